// An answer: the number large and its interval drawn, groups as bars or as a heat map, and ways to take it along.

import * as api from "./api.js";
import { bars, heat, interval, scale } from "./charts.js";
import { amount, behind, copyButton, csv, download, empty, h, notice, num, question, select, table } from "./dom.js";
import { keyed, labelOf, offBy, tabulated } from "./results.js";
import * as route from "./route.js";
import { forRow, times } from "./whose.js";

export async function render({ session, parameters, signal }) {
  const { parameter, symbol } = session;
  const priced = { sql: parameters.sql ?? "", [parameter]: parameters[parameter] ?? "" };
  const body = parameters.derived ? { sql: priced.sql, derive: true } : priced;
  const again = route.address("ask", priced);
  let answer = route.taken(parameters);
  if (!answer) {
    try {
      answer = await api.post(parameters.derived ? "/v1/answers" : parameters.rehearsed ? "/console/rehearsals" : "/console/recalled", body, { signal });
    } catch (error) {
      if (error.kind === "underivable") return [h("h1", {}, "Answer"), empty("It does not follow", error.message, h("a", { class: "button primary", href: again }, "Go to the question"))];
      if (error.kind !== "missing") throw error;
      return [h("h1", {}, "Answer"), empty("Not asked yet", "Nobody has bought this answer at this cost. Looking charged nothing.", h("a", { class: "button primary", href: again }, "Go to the question"))];
    }
  }
  const found = tabulated(answer);
  return [
    h("h1", {}, parameters.rehearsed ? "Rehearsal" : "Answer"),
    answer.rehearsed ? notice("warn", "Rehearsed: from random rows of the domain, not from the data.") : null,
    question(body.sql),
    shown(found),
    paid(answer, session),
    (answer.notes ?? []).map((one) => h("p", { class: "hint" }, one)),
    h("div", { class: "row actions" },
      h("a", { class: "button", href: again }, "Change the question"),
      h("button", { type: "button", onclick: async () => download("answer.csv", "text/csv", sheet(found, { ...answer, cost: await costOf(answer) })) }, "Download CSV"),
      h("button", { type: "button", class: "quiet", onclick: () => print() }, "Print")),
    listed(found),
    behind("As Python", code(python(body, parameter))),
    behind("As curl", code(curl(body))),
    h("p", { class: "hint" }, `After ± stands the expected error: how far off a number is on average. An interval holds the true number in 95 of 100 answers. Costs are in ${symbol}.`),
  ];
}

function shown({ labels, columns, rows }) {
  if (!rows.length) return notice("", "No group is possible under this condition.");
  if (!labels.length && rows.length === 1) {
    return h("section", { class: "card" }, rows[0].figures.map((one, place) => h("div", { class: "whole" },
      columns.length > 1 ? h("h2", {}, columns[place]) : null,
      h("p", { class: "huge" }, num(one.value), offBy(one) ? h("span", { class: "error" }, ` ${offBy(one)}`) : null),
      one.low === null ? null : [interval(one), h("p", { class: "muted" }, `95 % interval ${num(one.low)} to ${num(one.high)}`)])));
  }
  const box = h("div", {});
  const draw = (place) => {
    const series = rows.map((row) => ({ label: labelOf(row), ...row.figures[place] }));
    box.replaceChildren(labels.length === 2 ? grid(labels, rows, place) : bars(series, { label: `${columns[place]} by ${labels.join(" and ")}` }), labels.length !== 2 && rows.length > 60 ? h("p", { class: "hint" }, `The first 60 of ${num(rows.length)} groups; the table has all.`) : h("span"), h("p", { class: "muted" }, errorsText(series)));
  };
  const control = columns.length > 1 && select(columns.map((name, place) => [String(place), name]), "0", { class: "narrow", "aria-label": "Column to draw", onchange: () => draw(Number(control.value)) });
  draw(0);
  return h("section", { class: "card" }, control || null, box);
}

/** The expected errors of the numbers that are drawn, from the least to the greatest. */
function errorsText(series) {
  const known = series.filter((one) => offBy(one)).sort((one, other) => one.error - other.error);
  if (!known.length) return "";
  const [least, most] = [offBy(known[0]), offBy(known.at(-1))];
  return least === most ? `Expected error of each number ${most}` : `Expected errors ${least} to ${most}`;
}

function grid(labels, rows, place) {
  const [xs, ys] = [0, 1].map((key) => [...new Set(rows.map((row) => keyed(row.labels[key])))]);
  const cells = xs.map(() => ys.map(() => null));
  for (const row of rows) cells[xs.indexOf(keyed(row.labels[0]))][ys.indexOf(keyed(row.labels[1]))] = row.figures[place];
  const values = cells.map((column) => column.map((one) => one?.value ?? null));
  const top = Math.max(...values.flat().filter((one) => one !== null), 0);
  const tell = (i, j) => {
    const one = cells[i][j];
    if (!one) return "no such group";
    const wide = `${offBy(one) ? ` ${offBy(one)}` : ""}${one.low === null ? "" : `, 95 % interval ${num(one.low)} to ${num(one.high)}`}`;
    return `${labels[0]} ${xs[i]}, ${labels[1]} ${ys[j]}: ${num(one.value)}${wide}`;
  };
  return h("div", {}, heat({ xs, ys, xName: labels[0], yName: labels[1], cells: values, top, tell, plain: true, label: `A heat map by ${labels.join(" and ")}; the table below has the numbers` }), scale(top, ""));
}

function paid(answer, session) {
  if (answer.rehearsed) return h("p", { class: "muted" }, "Free: nothing was charged.");
  if (answer.derived) return h("p", { class: "muted" }, "Free: it follows from what was bought.");
  if (answer.charge === null) return h("p", { class: "muted" }, "Free: no row can satisfy this, so there was nothing to pay.");
  return h("p", { class: "muted" }, answer.cached ? `Free: bought by charge ${num(answer.charge)}.` : `Paid ${[`${amount(answer.cost, session.symbol)}${forRow(session)}`, times(session), `charge ${num(answer.charge)}`].filter(Boolean).join(", ")}.`);
}

function listed({ labels, columns, rows }) {
  const figures = columns.flatMap((name, place) => [
    [columns.length > 1 ? name : "Value", (row) => num(row.figures[place].value), { number: true }],
    ["Expected error", (row) => offBy(row.figures[place]) || "–", { number: true }],
    ["95 % interval", (row) => (row.figures[place].low === null ? "–" : `${num(row.figures[place].low)} to ${num(row.figures[place].high)}`), { number: true }],
  ]);
  const keys = labels.map((name, place) => [name, (row) => keyed(row.labels[place])]);
  const part = rows.slice(0, 500);
  return behind(rows.length > 1 ? `Table of ${num(rows.length)} groups` : "Table", [table([...keys, ...figures], part, { caption: "The answer as a table" }), part.length < rows.length ? h("p", { class: "hint" }, "The first 500; the CSV has all.") : null].filter(Boolean).reduce((box, one) => (box.append(one), box), h("div", {})));
}

/** What the charge cost that paid for an answer; of an answer that others have bought, nothing. */
async function costOf({ charge, cached, cost }) {
  if (!cached) return cost;
  return api.get(`/console/charges/${charge}`, {}, { quiet: true }).then((found) => found.cost, () => cost);
}

/** The answer as a file, with what it cost: each line has all that is known of its numbers. */
function sheet({ labels, columns, rows }, answer) {
  const several = columns.length > 1;
  const figures = columns.flatMap((name) => (several ? [name, `${name}_low`, `${name}_high`, `${name}_error`] : ["value", "low", "high", "expected_error"]));
  const paid = [["charge", answer.charge], ["cost", answer.cost], ...(answer.rehearsed ? [["rehearsed", true]] : [])];
  const headings = [];
  for (const name of [...labels, ...figures, ...paid.map(([one]) => one)]) {
    let free = name;
    while (headings.includes(free)) free += "_";
    headings.push(free);
  }
  return csv(headings, rows.map((row) => [...row.labels, ...row.figures.flatMap((one) => [one.value, one.low, one.high, one.error]), ...paid.map(([, one]) => one)]));
}

const code = (text) => h("div", { class: "code" }, h("pre", { tabindex: "0" }, h("code", {}, text)), copyButton("Copy", () => text));

const python = (body, parameter) => `from parcomp.client import Client

with Client(${JSON.stringify(location.origin)}) as client:  # the key is in PARCOMP_KEY
    answer = client.ask(${JSON.stringify(body.sql)}, ${body.derive ? "derive=True" : `${parameter}=${JSON.stringify(body[parameter])}`})
`;
const curl = (body) => `curl ${location.origin}/v1/answers \\
  -H "Authorization: Bearer $PARCOMP_KEY" -H "Content-Type: application/json" \\
  -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'
`;
