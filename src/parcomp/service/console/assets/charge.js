// One charge: what was asked, what it added, and its place in the chain.

import * as api from "./api.js";
import { amount, behind, briefSql, h, num, plural, question, table, time } from "./dom.js";
import * as route from "./route.js";
import { rowText } from "./sqltext.js";
import { forPerson, forRow, times } from "./whose.js";

export async function render({ session, domain, parameters, signal }) {
  const { symbol } = session;
  const number = Number(parameters.number) || 1;
  const tends = session.role === "custodian";
  const [found, why] = await Promise.all([
    api.get(`/console/charges/${number}`, {}, { signal }),
    // What others have asked is for custodians.
    tends ? api.get(`/console/charges/${number}/reason`, {}, { signal }) : null,
  ]);
  const checked = h("dd", {}, "…");
  // Digests speak for the charges of others too, so analysts get none.
  if (found.digest) recomputed(found).then((digest) => {
    checked.textContent = digest === null ? "not recomputed: the browser does so over HTTPS or on this machine only" : digest === found.digest ? "yes, recomputed in this browser from the fields below" : "NO: the digest is not that of the fields below";
  });
  return [
    h("h1", {}, `Charge ${num(found.number)}`),
    question(found.sql),
    h("section", { class: "card" }, h("dl", {},
      h("dt", {}, "Asked by"), h("dd", {}, found.analyst || "custodian"),
      h("dt", {}, "When"), h("dd", {}, time(found.time)),
      h("dt", {}, "Cost"), h("dd", {}, [`${amount(found.cost, symbol)}${forRow(session)}`, times(session)].filter(Boolean).join(", ")),
      h("dt", {}, "Added"), h("dd", {}, found.adds === 0 ? `${symbol} 0: no row pays for it and for what had cost most` : `${amount(found.adds, symbol)}${forPerson(session)}`),
      h("dt", {}, "Spent after it"), h("dd", {}, `${amount(found.spent, symbol)}${forPerson(session)}, proven`),
      found.batch ? [h("dt", {}, "Batch"), h("dd", {}, found.batch)] : null)),
    why ? reason(why, found, domain, session) : null,
    found.digest ? h("section", { class: "card", "aria-labelledby": "chain" }, h("h2", { id: "chain" }, "In the chain"), h("dl", {},
      h("dt", {}, "Digest"), h("dd", { class: "digest" }, found.digest),
      h("dt", {}, "Before it"), h("dd", { class: "digest" }, found.previous),
      h("dt", {}, "Holds"), checked)) : null,
    behind("Fields", h("dl", {}, ["number", "time", "analyst", "statement", "where", "units", "upper", "batch"].flatMap((name) => [h("dt", {}, name), h("dd", { class: "digest long", tabindex: String(found[name]).length > 1000 ? 0 : null }, String(found[name]))]))),
    h("div", { class: "row actions" }, h("a", { class: "button", href: route.address("charges") }, "All charges"), h("a", { class: "button", href: route.address("graph", { charge: found.number }) }, "In the graph")),
  ];
}

/** Why it added what it added: what one of its rows had paid before it, and for which charges. */
function reason(why, charge, domain, { symbol, rows_per_person: rows }) {
  const before = why.exact ? amount(why.upper, symbol) : `between ${amount(why.lower, symbol)} and ${amount(why.upper, symbol)}`;
  const grown = why.most_after > why.most_before;
  const met = why.meets
    ? `Its rows can be in ${plural(why.meets, "earlier charge")}. The one of them that had paid most had paid ${before}; all of them pay for this charge as well, so with it that is ${why.exact ? "" : "at most "}${amount(why.with_it, symbol)}.`
    : `No earlier charge covers any of its rows, so each of them has paid for this charge alone: ${amount(why.with_it, symbol)}.`;
  const most = grown
    ? `Proven when it was asked: the most that any row had paid grew from ${amount(why.most_before, symbol)} to ${amount(why.most_after, symbol)}.`
    : `Other rows had paid ${amount(why.most_before, symbol)} before it, which is no less, so the most that any row has paid did not grow.`;
  return h("section", { class: "card", "aria-labelledby": "why" },
    h("h2", { id: "why" }, "Why it added that"),
    h("p", {}, met, " ", most, rows > 1 ? ` These are amounts of one row; a person may have ${num(rows)}.` : ""),
    why.charges.length ? [
      h("p", { class: "muted" }, `A row that pays for all of these: ${rowText(domain, why.witness)}.`),
      table([
        ["Charge", (one) => h("a", { href: route.address("charge", { number: one.number }) }, num(one.number)), { number: true }],
        ["Question", (one) => briefSql(one.sql), { klass: "wide" }],
        ["Cost", (one) => amount(one.cost, symbol), { number: true }],
      ], [...why.charges, charge], { caption: "The charges that make the maximum on its rows, this one last", stacked: true }),
      why.members.length > why.charges.length ? h("p", { class: "hint" }, `The latest ${num(why.charges.length)} of ${num(why.members.length)}.`) : null,
    ] : null);
}

/** The digest of a charge, by the records that the page on the ledger describes; null where the browser has no SHA-256. */
async function recomputed(charge) {
  if (!crypto.subtle) return null;
  const write = new TextEncoder();
  const fields = ["parcomp charge 1", charge.previous, charge.number, charge.time, charge.analyst, charge.statement, charge.where, charge.units, charge.upper, charge.batch];
  const records = fields.map((field) => { const bytes = write.encode(String(field)); return [write.encode(`${bytes.length}:`), bytes, write.encode("\n")]; }).flat();
  const whole = new Uint8Array(records.reduce((size, one) => size + one.length, 0));
  let at = 0;
  for (const one of records) { whole.set(one, at); at += one.length; }
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", whole));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
