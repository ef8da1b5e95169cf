// My answers: what I asked, what it cost and what came out, the latest first.

import * as api from "./api.js";
import { amount, briefSql, csv, download, empty, h, num, table, time } from "./dom.js";
import { brief } from "./results.js";
import * as route from "./route.js";
import { both, bothKinds, rowHeading } from "./whose.js";

export async function render({ session, signal }) {
  const { symbol, parameter } = session;
  const [first, balance] = await Promise.all([api.get("/console/answers", {}, { signal }), api.get("/v1/budget", {}, { signal })]);
  const rows = first.answers;
  let before = first.before;
  const mine = balance.analysts?.[session.name];
  const box = h("div", {});
  const more = h("button", { type: "button", onclick: async () => {
    const next = await api.get("/console/answers", { before });
    rows.push(...next.answers);
    before = next.before;
    draw();
  } }, "Earlier ones");
  const link = (row) => (row.sql ? h("a", { href: route.address("answer", { sql: row.sql, [parameter]: row.amount }) }, briefSql(row.sql)) : h("a", { href: route.address("charge", { number: row.number }) }, "not written in SQL here; see the charge"));
  const draw = () => {
    box.replaceChildren(table([
      ["Charge", (row) => num(row.number), { number: true }],
      ["Asked", (row) => time(row.time)],
      ["Question", link, { klass: "wide" }],
      [rowHeading("Cost", session), (row) => amount(row.cost, symbol), { number: true }],
      ["Answer (95 % interval)", (row) => (row.answer ? brief(row.answer) : "–"), { number: true }],
    ], rows, { caption: "My answers" }), before ? more : "");
  };
  draw();
  if (!rows.length) return [h("h1", {}, "My answers"), empty("Nothing asked yet", "What you ask is kept here, and asking the same again is free.", h("a", { class: "button primary", href: route.address("ask") }, "Ask something"))];
  return [
    h("h1", {}, "My answers"),
    h("p", { class: "muted" }, mine ? `${num(first.total)} charged in all. ${mine.quota === null ? `You have spent ${both(mine, "spent", symbol, balance.delta)}.` : `You have spent ${both(mine, "spent", symbol, balance.delta)} of your quota of ${both(mine, "quota", symbol, balance.delta)} on the rows where most was asked.`}` : ""),
    bothKinds(session),
    box,
    h("div", { class: "row actions" }, h("button", { type: "button", onclick: () => download("my-answers.csv", "text/csv", csv(["charge", "time", "sql", parameter, "value", "low", "high", "expected_error"], rows.map((row) => [row.number, row.time, row.sql, row.cost, row.answer?.value, row.answer?.interval?.[0], row.answer?.interval?.[1], row.answer?.interval ? row.answer.expected_error : null]))) }, "Download CSV")),
  ];
}
