// An answer: the number large and its interval drawn, groups as bars or as a heat map, and ways to take it along.

import * as api from "./api.js";
import { bars, heat, interval, scale } from "./charts.js";
import { amount, behind, copyButton, csv, download, empty, h, notice, num, select, sqlText, table } from "./dom.js";
import { keyed, labelOf, tabulated } from "./results.js";
import * as route from "./route.js";

export async function render({ session, parameters, signal }) {
  const { parameter, symbol } = session;
  const body = { sql: parameters.sql ?? "", [parameter]: parameters[parameter] ?? "" };
  const again = route.address("ask", body);
  let answer = route.taken(parameters);
  if (!answer) {
    try {
      answer = await api.post(parameters.rehearsed ? "/console/rehearsals" : "/console/recalled", body, { signal });
    } catch (error) {
      if (error.kind !== "missing") throw error;
      return [h("h1", {}, "Answer"), empty("Not asked yet", "Nobody has bought this answer at this cost. Looking charged nothing.", h("a", { class: "button primary", href: again }, "Go to the question"))];
    }
  }
  const found = tabulated(answer);
  return [
    h("h1", {}, parameters.rehearsed ? "Rehearsal" : "Answer"),
    answer.rehearsed ? notice("warn", "Rehearsed: from random rows of the domain, not from the data.") : null,
    h("p", { class: "question" }, sqlText(body.sql)),
    shown(found, answer, parameters),
    paid(answer, session),
    (answer.notes ?? []).map((one) => h("p", { class: "hint" }, one)),
    h("div", { class: "row actions" },
      h("a", { class: "button", href: again }, "Change the question"),
      h("button", { type: "button", onclick: () => download("answer.csv", "text/csv", sheet(found)) }, "Download CSV"),
      h("button", { type: "button", class: "quiet", onclick: () => print() }, "Print")),
    listed(found),
    behind("As Python", code(python(body, parameter))),
    behind("As curl", code(curl(body))),
    h("p", { class: "hint" }, `An interval holds the true number in 95 of 100 answers. Costs are in ${symbol}.`),
  ];
}

function shown({ labels, columns, rows }, answer, parameters) {
  if (!rows.length) return notice("", "No group is possible under this condition.");
  if (!labels.length && rows.length === 1) {
    return h("section", { class: "card" }, rows[0].figures.map((one, place) => h("div", { class: "whole" },
      columns.length > 1 ? h("h2", {}, columns[place]) : null,
      h("p", { class: "huge" }, num(one.value), one.low === null ? null : h("span", { class: "error" }, ` ± ${num(Number(((one.high - one.low) / 2).toPrecision(3)))}`)),
      one.low === null ? null : [interval(one), h("p", { class: "muted" }, `95 % interval ${num(one.low)} to ${num(one.high)}`)])));
  }
  const box = h("div", {});
  const draw = (place) => {
    const series = rows.map((row) => ({ label: labelOf(row), ...row.figures[place] }));
    box.replaceChildren(labels.length === 2 ? grid(labels, rows, place) : bars(series, { label: `${columns[place]} by ${labels.join(" and ")}` }), labels.length !== 2 && rows.length > 60 ? h("p", { class: "hint" }, `The first 60 of ${num(rows.length)} groups; the table has all.`) : h("span"));
  };
  const control = columns.length > 1 && select(columns.map((name, place) => [String(place), name]), "0", { class: "narrow", "aria-label": "Column to draw", onchange: () => draw(Number(control.value)) });
  draw(0);
  return h("section", { class: "card" }, control || null, box, answer.expected_error === null || columns.length > 1 ? null : h("p", { class: "muted" }, `Expected error of each number ± ${num(Number(answer.expected_error.toPrecision(2)))}`));
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
    const wide = one.low === null ? "" : ` ± ${num(Number(((one.high - one.low) / 2).toPrecision(3)))}, 95 % interval ${num(one.low)} to ${num(one.high)}`;
    return `${labels[0]} ${xs[i]}, ${labels[1]} ${ys[j]}: ${num(one.value)}${wide}`;
  };
  return h("div", {}, heat({ xs, ys, xName: labels[0], yName: labels[1], cells: values, top, tell, plain: true, label: `A heat map by ${labels.join(" and ")}; the table below has the numbers` }), scale(top, ""));
}

function paid(answer, { symbol }) {
  if (answer.rehearsed) return h("p", { class: "muted" }, "Free: nothing was charged.");
  if (answer.charge === null) return h("p", { class: "muted" }, "Free: no row can satisfy this, so there was nothing to pay.");
  return h("p", { class: "muted" }, answer.cached ? `Free: bought by charge ${num(answer.charge)}.` : `Paid ${amount(answer.cost, symbol)}, charge ${num(answer.charge)}.`);
}

function listed({ labels, columns, rows }) {
  const figures = columns.flatMap((name, place) => [
    [columns.length > 1 ? name : "Value", (row) => num(row.figures[place].value), { number: true }],
    ["95 % interval", (row) => (row.figures[place].low === null ? "–" : `${num(row.figures[place].low)} to ${num(row.figures[place].high)}`), { number: true }],
  ]);
  const keys = labels.map((name, place) => [name, (row) => keyed(row.labels[place])]);
  const part = rows.slice(0, 500);
  return behind(rows.length > 1 ? `Table of ${num(rows.length)} groups` : "Table", [table([...keys, ...figures], part, { caption: "The answer as a table" }), part.length < rows.length ? h("p", { class: "hint" }, "The first 500; the CSV has all.") : null].filter(Boolean).reduce((box, one) => (box.append(one), box), h("div", {})));
}

function sheet({ labels, columns, rows }) {
  const several = columns.length > 1;
  const headings = [...labels, ...columns.flatMap((name) => (several ? [name, `${name}_low`, `${name}_high`] : ["value", "low", "high"]))];
  return csv(headings, rows.map((row) => [...row.labels, ...row.figures.flatMap((one) => [one.value, one.low, one.high])]));
}

const code = (text) => h("div", { class: "code" }, h("pre", { tabindex: "0" }, h("code", {}, text)), copyButton("Copy", () => text));

const python = (body, parameter) => `from parcomp.client import Client

with Client(${JSON.stringify(location.origin)}) as client:  # the key is in PARCOMP_KEY
    answer = client.ask(${JSON.stringify(body.sql)}, ${parameter}=${JSON.stringify(body[parameter])})
`;
const curl = (body) => `curl ${location.origin}/v1/answers \\
  -H "Authorization: Bearer $PARCOMP_KEY" -H "Content-Type: application/json" \\
  -d '${JSON.stringify(body).replaceAll("'", "'\\''")}'
`;
