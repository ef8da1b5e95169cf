// One charge: what was asked, what it added, and its place in the chain.

import * as api from "./api.js";
import { amount, behind, h, num, sqlText, time } from "./dom.js";
import * as route from "./route.js";

export async function render({ session, parameters, signal }) {
  const { symbol } = session;
  const number = Number(parameters.number) || 1;
  const found = await api.get(`/console/charges/${number}`, {}, { signal });
  const checked = h("dd", {}, "…");
  recomputed(found).then((digest) => {
    checked.textContent = digest === null ? "not recomputed: the browser does so over HTTPS or on this machine only" : digest === found.digest ? "yes, recomputed in this browser from the fields below" : "NO: the digest is not that of the fields below";
  });
  return [
    h("h1", {}, `Charge ${num(found.number)}`),
    h("p", { class: "question" }, sqlText(found.sql)),
    h("section", { class: "card" }, h("dl", {},
      h("dt", {}, "Asked by"), h("dd", {}, found.analyst || "custodian"),
      h("dt", {}, "When"), h("dd", {}, time(found.time)),
      h("dt", {}, "Cost"), h("dd", {}, amount(found.cost, symbol)),
      h("dt", {}, "Added"), h("dd", {}, found.adds === 0 ? `${symbol} 0: no row paid for it and for what had cost most` : amount(found.adds, symbol)),
      h("dt", {}, "Spent after it"), h("dd", {}, `${amount(found.spent, symbol)}, proven`),
      found.batch ? [h("dt", {}, "Batch"), h("dd", {}, found.batch)] : null)),
    h("section", { class: "card", "aria-labelledby": "chain" }, h("h2", { id: "chain" }, "In the chain"), h("dl", {},
      h("dt", {}, "Digest"), h("dd", { class: "digest" }, found.digest),
      h("dt", {}, "Before it"), h("dd", { class: "digest" }, found.previous),
      h("dt", {}, "Holds"), checked)),
    behind("Fields", h("dl", {}, ["number", "time", "analyst", "statement", "where", "units", "upper", "batch"].flatMap((name) => [h("dt", {}, name), h("dd", { class: "digest" }, String(found[name]))]))),
    h("div", { class: "row actions" }, h("a", { class: "button", href: route.address("charges") }, "All charges"), h("a", { class: "button", href: route.address("graph", { charge: found.number }) }, "In the graph")),
  ];
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
