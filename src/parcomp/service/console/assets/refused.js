// Refused: which limit binds, what is left on these rows, the largest cost that fits, and where there is more.

import * as api from "./api.js";
import { errorText, roundDown, unitOf } from "./ask.js";
import { amount, h, notice, num, question, table } from "./dom.js";
import * as route from "./route.js";
import { kindOf, places, questionOf, sqlOf } from "./sqltext.js";
import { forPerson, forRow, inEpsilon, rowHeading, times } from "./whose.js";

const MOST = 10;
/** Bands that numbers and dates are tried in, and how many parts are tried in all. */
const BANDS = 5;
const TRIED = 40;

export async function render({ session, domain, parameters, signal }) {
  const { parameter, symbol } = session;
  const body = { sql: parameters.sql ?? "", [parameter]: parameters[parameter] ?? "" };
  const quote = await api.post("/console/quotes", body, { signal });
  if (quote.fits) {
    return [h("h1", {}, "It fits"), question(body.sql), notice("good", `At ${symbol} ${body[parameter]} this can be asked.`), h("p", {}, h("a", { class: "button primary", href: route.address("ask", body) }, "Go to the question"))];
  }
  const best = roundDown(quote.remaining);
  const limits = Object.entries(quote.left ?? {}).sort((one, other) => one[1] - other[1]);
  const called = (limit) => (limit === "budget" ? "The dataset’s budget" : limit === `quota of ${session.name}` ? "Your quota" : limit);
  const elsewhere = h("div", { class: "listed", "aria-live": "polite" }, h("p", { class: "hint" }, "Looking for rows with more left…"));
  regions(session, domain, body, quote, signal).then((found) => {
    if (!found.length) {
      elsewhere.replaceChildren(h("p", { class: "hint" }, "No part of these rows, by one attribute more, has more left."));
      return;
    }
    elsewhere.replaceChildren(h("h2", {}, "Where more is left"), h("p", { class: "muted" }, "The same question on fewer rows. This follows from what was asked before, never from the data."), table([
      ["Only rows with", (one) => h("a", { href: route.address("ask", { sql: one.sql, [parameter]: body[parameter] }) }, `${one.attribute} ${one.said}`)],
      [rowHeading("Left there", session), (one) => amount(one.remaining, symbol), { number: true }],
      ...(found.some((one) => one.fits) ? [[`Fits at ${symbol} ${body[parameter]}`, (one) => (one.fits ? "yes" : "no")]] : []),
    ], found, { caption: "Regions with more budget left" }));
  }).catch(() => elsewhere.replaceChildren());
  return [
    h("h1", {}, "Refused"),
    notice("warn", "Nothing was charged, and nothing was read from the data."),
    question(body.sql),
    h("section", { class: "card" },
      h("p", { class: "big" }, `${called(quote.limit)} binds`),
      h("p", {}, `You asked for ${symbol} ${body[parameter]}${forRow(session)}${inEpsilon(quote.epsilon?.cost, quote.delta, forPerson(session))}; on these rows ${amount(quote.remaining, symbol)}${inEpsilon(quote.epsilon?.remaining, quote.delta, forPerson(session))} is left${forRow(session)}.`),
      times(session) ? h("p", { class: "hint" }, `A person may have ${num(session.rows_per_person)} rows, for which it is ${times(session)}.`) : null,
      table([
        ["Limit", ([limit]) => called(limit)],
        [rowHeading("Leaves on these rows", session), ([, value]) => amount(value, symbol), { number: true }],
      ], limits, { caption: "What each limit leaves" }),
      quote.remaining > 0
        ? h("p", { class: "row actions" }, h("a", { class: "button primary", href: route.address("ask", { sql: body.sql, [parameter]: best }) }, `Ask for ${symbol} ${best} instead`), quote.best_error ? h("span", { class: "muted" }, `expected error ${errorText(quote.best_error, unitOf(session, quote))}`) : null)
        : h("p", {}, "Nothing is left on these rows. Ask about others."),
      h("p", {}, h("a", { href: route.address("ask", body) }, "Back to the question"))),
    elsewhere,
  ];
}

/** Quotes of the same question on fewer rows: what they say follows from the ledger alone. */
async function regions(session, domain, body, quote, signal) {
  const asked = questionOf(domain, quote.statement, body.sql, quote.keys);
  const offered = Object.entries(domain.attributes).map(([attribute, one]) => parts(one, asked.where[attribute]).map(([said, accepted]) => ({ attribute, said, sql: sqlOf(domain, session.table, { ...asked, where: { ...asked.where, [attribute]: accepted } }) })));
  // One of each attribute in turn, so that those with many parts leave room for the others.
  const tried = [];
  for (let place = 0; tried.length < TRIED && offered.some((one) => place < one.length); place += 1) tried.push(...offered.map((one) => one[place]).filter(Boolean));
  const found = [];
  for (const one of tried.slice(0, TRIED)) found.push({ ...one, ...(await api.post("/console/quotes", { sql: one.sql, [session.parameter]: body[session.parameter] }, { signal, quiet: true })) });
  return found.filter((one) => one.remaining > quote.remaining).sort((one, other) => other.remaining - one.remaining).slice(0, MOST);
}

/** Parts of what is asked of an attribute: each value of a few, or bands of numbers and dates. */
function parts(attribute, asked) {
  if (kindOf(attribute) === "values") {
    const values = asked?.values ?? attribute.values;
    return values.length < 2 || values.length > MOST ? [] : values.map((value) => [`= ${value}`, { values: [value], nothing: false }]);
  }
  const bins = kindOf(attribute) === "bins";
  const { of, at, count } = places(attribute);
  const [start, stop] = asked ? [of(asked.from), bins ? of(asked.to) : of(asked.to) + 1] : [0, count];
  const bands = Math.min(stop - start, BANDS);
  if (!(bands > 1)) return [];
  return Array.from({ length: bands }, (_, band) => {
    const [first, next] = [band, band + 1].map((edge) => start + Math.round(((stop - start) * edge) / bands));
    const [from, to] = [at(first), at(bins ? next : next - 1)];
    return [String(from) === String(to) ? `= ${shown(from)}` : `${shown(from)} ${bins ? "up to" : "to"} ${shown(to)}`, { from, to, nothing: false }];
  });
}
const shown = (value) => (typeof value === "number" ? num(value) : String(value));
