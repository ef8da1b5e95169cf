// The ledger: verified by an independent pass, its head to note elsewhere, and all of it to take along.

import * as api from "./api.js";
import { amount, copyButton, download, h, notice, num, plural, time } from "./dom.js";
import { forPerson, inEpsilon } from "./whose.js";

export async function render({ session, signal }) {
  const found = await api.get("/console/overview", {}, { signal });
  const result = h("div", { "aria-live": "polite" });
  const button = h("button", { type: "button", class: "primary", onclick: verify }, "Verify now");

  async function verify() {
    button.disabled = true;
    result.replaceChildren(h("p", { class: "muted" }, "Recomputing every digest and the loss of all charges…"));
    try {
      const audit = await api.post("/console/audits", {}, { signal });
      result.replaceChildren(told(audit, session));
      if (audit.ok) localStorage.setItem(`parcomp.verified.${session.dataset}`, JSON.stringify({ time: audit.time, head: audit.head }));
    } catch (error) {
      result.replaceChildren(notice("bad", error.message));
    } finally {
      button.disabled = false;
    }
  }

  async function save() {
    const lines = [];
    let after = 0;
    do {
      const part = await api.get("/v1/ledger", { after });
      lines.push(...part.charges.map((one) => JSON.stringify(one)));
      after = part.next;
    } while (after);
    download("ledger.jsonl", "application/jsonl", `${lines.join("\n")}\n`);
  }

  return [
    h("h1", {}, "Ledger"),
    h("section", { class: "card", "aria-labelledby": "head" },
      h("h2", { id: "head" }, "Head"),
      h("p", {}, found.number ? `That of entry ${num(found.number)}, ${found.loaded_last ? "a load of the table" : "a charge"}. The head speaks for all entries up to it; note it somewhere else, so that charges cannot be cut off unseen.` : "No charges yet: the chain begins with the digest of the dataset, its domain and its budget."),
      h("p", { class: "digest secret" }, found.head),
      h("div", { class: "row actions" }, copyButton("Copy the head", () => found.head), h("button", { type: "button", class: "quiet", onclick: save }, "Export as JSON lines"), h("button", { type: "button", class: "quiet", onclick: () => print() }, "Print"))),
    h("section", { class: "card", "aria-labelledby": "verify" },
      h("h2", { id: "verify" }, "Verify"),
      h("p", { class: "muted" }, "Nothing is taken from the custodian that made the charges: the chain is recomputed from its beginning, each charge is read again, and their loss is worked out from scratch."),
      h("div", { class: "row actions" }, button),
      result),
    h("section", { class: "card", "aria-labelledby": "guarantee" }, h("h2", { id: "guarantee" }, "What it guarantees"), h("p", {}, `Whoever sees all answers learns almost the same with and without any one ${session.rows_per_person > 1 ? `person’s rows, up to ${session.rows_per_person} of them` : "row"}: neighbors are tables that differ by ${session.neighbours === "add-remove" ? "adding or removing a row" : "replacing a row"}, ${session.bounded ? "and no more rows of a person are counted" : "assuming that nobody has more"}, and costs are in ${session.symbol} (${session.measure}).`)),
  ];
}

function told(audit, session) {
  const { symbol } = session;
  return h("div", {},
    audit.ok ? notice("good", "The chain holds, and the loss is within the budget.") : notice("bad", h("p", {}, `${plural(audit.problems.length, "problem")}:`), audit.problems.slice(0, 20).map((one) => h("p", {}, one))),
    h("dl", { class: "spaced" },
      h("dt", {}, "Verified"), h("dd", {}, time(audit.time), ` in ${num(audit.seconds)} s`),
      h("dt", {}, "Charges"), h("dd", {}, `${num(audit.charges)}${audit.loads ? `, and ${plural(audit.loads, "load")} of the table` : ""}`),
      h("dt", {}, "Loss"), h("dd", {}, `${amount(audit.loss, symbol)}${inEpsilon(audit.epsilon?.loss, audit.delta)} of ${amount(audit.budget, symbol)}${inEpsilon(audit.epsilon?.budget, audit.delta)}${forPerson(session)}${audit.checked ? ", its proof checked apart from the solver" : ""}`),
      h("dt", {}, "One by one"), h("dd", {}, amount(audit.sequential, symbol)),
      h("dt", {}, "Head"), h("dd", { class: "digest" }, audit.head)));
}
