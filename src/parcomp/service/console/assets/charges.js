// Charges: filtered, sorted, taken along.

import * as api from "./api.js";
import { amount, briefSql, csv, download, empty, field, h, num, rested, table, time } from "./dom.js";
import * as route from "./route.js";
import { whom } from "./whom.js";
import { bothKinds, personHeading, rowHeading } from "./whose.js";

const SORTS = { number: (row) => row.number, cost: (row) => row.cost, analyst: (row) => row.analyst, spent: (row) => row.spent };

export async function render({ session, parameters, signal }) {
  const { symbol, parameter } = session;
  const own = session.role !== "custodian";
  const state = { analyst: parameters.analyst ?? "", unnamed: parameters.unnamed ?? "", text: parameters.text ?? "", sort: parameters.sort in SORTS ? parameters.sort : "number", up: parameters.up ?? "" };
  const balance = await api.get("/v1/budget", {}, { signal });
  const box = h("div", { class: "listed" });
  let rows = [];
  let found = null;

  // Charges without a name are those of custodians who asked on their own machine, where no analysts are declared.
  const who = whom([...(session.analysts.length ? [] : [""]), ...Object.keys(balance.analysts)], state, () => load());
  const text = h("input", { type: "search", value: state.text, placeholder: "gender = 'F'", oninput: rested(200, () => { state.text = text.value; load(); }) });
  const asked = (more) => api.get("/console/charges", { analyst: state.analyst, unnamed: state.unnamed, text: state.text, ...more }, { signal });

  async function load() {
    route.note("charges", state);
    found = await asked({});
    rows = found.charges;
    draw();
  }

  function heading(label, key) {
    const on = state.sort === key;
    return h("button", { type: "button", "aria-label": `Sort by ${label}`, onclick: () => { state.up = on && !state.up ? "1" : ""; state.sort = key; route.note("charges", state); draw(); } }, label, on ? (state.up ? " ↑" : " ↓") : "");
  }

  function draw() {
    const value = SORTS[state.sort];
    const sorted = rows.slice().sort((one, other) => (value(one) < value(other) ? -1 : value(one) > value(other) ? 1 : 0) * (state.up ? 1 : -1));
    const more = h("button", { type: "button", onclick: async () => { found = await asked({ before: found.before }); rows.push(...found.charges); draw(); } }, "Earlier ones");
    box.replaceChildren(
      found.total ? h("p", { class: "muted" }, `${num(found.total)} found${rows.length < found.total ? `, the latest ${num(rows.length)} shown` : ""}.`) : "",
      rows.length ? table([
        [heading("Charge", "number"), (row) => h("a", { href: route.address("charge", { number: row.number }) }, num(row.number)), { number: true }],
        ["Asked", (row) => time(row.time)],
        ...(own ? [] : [[heading("Analyst", "analyst"), (row) => row.analyst || "custodian"]]),
        ["Question", (row) => briefSql(row.sql), { klass: "wide" }],
        [heading(rowHeading("Cost", session), "cost"), (row) => amount(row.cost, symbol), { number: true }],
        [personHeading("Spent after it", session), (row) => amount(row.spent, symbol), { number: true }],
      ], sorted, { caption: "Charges" }) : empty(state.analyst || state.unnamed || state.text ? "Nothing found" : "Nothing asked yet", state.analyst || state.unnamed || state.text ? "No charge is left by this filter." : "Each answer that is paid for is listed here.", ...(state.analyst || state.unnamed || state.text ? [] : [own ? h("a", { class: "button primary", href: route.address("ask") }, "Ask something") : h("a", { class: "button primary", href: route.address("analysts") }, "Make a key for an analyst")])),
      found.before ? h("p", {}, more) : "");
  }

  async function save() {
    const all = [];
    let before;
    do {
      const part = await asked({ before, limit: 1000 });
      all.push(...part.charges);
      before = part.before;
    } while (before);
    download("charges.csv", "text/csv", csv(["charge", "time", "analyst", "sql", parameter, "spent_after", "batch"], all.reverse().map((row) => [row.number, row.time, row.analyst, row.sql, row.cost, row.spent, row.batch])));
  }

  await load();
  return [h("h1", {}, "Charges"), h("div", { class: "row" }, own ? null : field("Asked by", who), field("Question has", text), h("button", { type: "button", onclick: save }, "Download CSV")), bothKinds(session), box];
}
