// Overview: what was spent of the budget, what it would have cost one by one, who asked, and the head of the ledger.

import * as api from "./api.js";
import { gauge, legend, share, steps, ticks } from "./charts.js";
import { amount, behind, dayOf, empty, h, num, plural, table, time } from "./dom.js";
import * as route from "./route.js";
import { both, bothKinds, forPerson, small } from "./whose.js";

export async function render({ session, signal }) {
  const { symbol } = session;
  const [balance, found] = await Promise.all([api.get("/v1/budget", {}, { signal }), api.get("/console/overview", {}, { signal })]);
  const meter = h("div", {}, gauge({ ...balance, symbol }));
  const bracket = h("p", { class: "hint two-lines" });
  if (balance.charges) {
    // The bracket takes a moment longer, and is put in without moving anything.
    api.get("/console/bracket", {}, { signal, quiet: true }).then((proven) => {
      meter.replaceChildren(gauge({ ...balance, spent: proven.spent, lower: proven.lower, symbol }));
      bracket.textContent = bracketText(proven, session);
    }).catch(() => {});
  }
  const saved = balance.sequential > 0 ? 1 - balance.spent / balance.sequential : 0;
  const left = balance.budget - balance.spent;
  return [
    h("h1", {}, "Overview"),
    h("section", { class: "card", "aria-labelledby": "gauge" },
      h("h2", { id: "gauge" }, `${amount(balance.spent, symbol)} of ${amount(balance.budget, symbol)} spent${forPerson(session)} where most was asked`),
      meter,
      balance.charges ? bracket : null,
      balance.epsilon?.spent !== undefined && balance.epsilon?.spent !== null ? h("p", { class: "muted" }, `As ε at δ = ${small(balance.delta)}: ${num(balance.epsilon.spent)} of ${num(balance.epsilon.budget)}.`) : null,
      bothKinds(session)),
    h("div", { class: "tiles" },
      tile("Charges", num(balance.charges), found.loads ? `and ${plural(found.loads, "load")} of the table` : "in the ledger"),
      tile("Answers today", num(found.today), "charged since midnight, UTC"),
      tile("Refused", num(found.refusals), "by this server, since it was started"),
      tile("Left", amount(Number(left.toPrecision(6)), symbol), "where most was asked"),
      tile("Saved", balance.charges ? `${num(Math.round(saved * 1000) / 10)} %` : "–", "beside asking one by one")),
    found.points.length ? spending(balance, found, session) : empty("Nothing asked yet", "Spending appears here with the first answer. Give an analyst a key, and let them ask.", h("a", { class: "button primary", href: route.address("analysts") }, "Make a key")),
    people(balance, found, session),
    h("section", { class: "card", "aria-labelledby": "head" }, h("h2", { id: "head" }, "Ledger"), h("p", {}, headText(found)), h("p", { class: "digest" }, found.head), verified(session, found)),
  ];
}

/** What is proven of the loss, all of it for a person: the row that was found to have paid most gives its lower end. */
function bracketText({ lower, spent, exact }, { symbol, rows_per_person: rows, neighbours }) {
  if (neighbours !== "add-remove") return exact ? "Exact: it follows from a row that was found to have paid most." : `Proven: at most ${amount(spent, symbol)}; by the row that was found to have paid most, ${amount(lower, symbol)}.`;
  if (rows === 1) return exact ? "Exact: some row has paid all of it." : `Proven: some row has paid ${amount(lower, symbol)}, and none more than ${amount(spent, symbol)}.`;
  const whoever = `whoever has ${num(rows)} rows like the one that has paid most`;
  return exact ? `Exact: ${whoever} has paid all of it.` : `Proven: ${whoever} has paid ${amount(lower, symbol)}, and nobody more than ${amount(spent, symbol)}.`;
}

/** When the ledger was last verified from this browser, which is where that is noted. */
function verified({ dataset }, { head }) {
  const link = (label) => h("a", { href: route.address("ledger") }, label);
  const noted = JSON.parse(localStorage.getItem(`parcomp.verified.${dataset}`) ?? "null");
  if (!noted) return h("p", {}, "Not verified from this browser yet; what others have verified is not noted here. ", link("Verify it"));
  return h("p", {}, "Verified from this browser ", time(noted.time), noted.head === head ? ", up to this head. " : ", at an earlier head. ", link("Verify it again"));
}

const tile = (label, value, note) => h("div", { class: "tile" }, h("p", {}, label), h("p", {}, value), h("p", { class: "hint" }, note));

/** What the head of the chain is. */
export const headText = ({ number, loaded_last: loaded }) => (number ? `The head is that of entry ${num(number)}, ${loaded ? "a load of the table" : "a charge"}:` : "The ledger has no charges; its chain begins with:");

function spending(balance, { points }, { symbol }) {
  const times = points.map((one) => Date.parse(one.time));
  // Everything asked within minutes would be a wall: then charges are counted instead.
  const dated = times.at(-1) - times[0] > 36e5 * 36;
  const at = (one, place) => (dated ? times[place] : one.charges);
  const begin = dated ? times[0] - 1 : 0;
  const line = (name, klass, key) => ({ name, klass, points: [[begin, 0], ...points.map((one, place) => [at(one, place), one[key]])] });
  const beyond = balance.sequential > balance.budget * 4;
  const series = [line("spent", "ours", "spent"), line("one by one", "theirs", "sequential")];
  const axis = (from, to, about) => {
    if (dated) {
      return Array.from({ length: about }, (_, place) => {
        const value = from + ((to - from) * place) / (about - 1);
        return [value, dayOf(new Date(value).toISOString())];
      });
    }
    // Round numbers, and the last one in place of a round one that is close to it.
    const round = ticks(from, to, about).filter((value) => Number.isInteger(value) && to - value > ((to - from) / about) * 0.7);
    return [...round, to].map((value) => [value, value === to ? plural(value, "charge") : num(value)]);
  };
  const label = `Spending: ${symbol} ${num(balance.spent)} by overlap, ${symbol} ${num(balance.sequential)} one by one`;
  const times_ = balance.spent > 0 ? balance.sequential / balance.spent : 1;
  return h("section", { class: "card", "aria-labelledby": "spending" },
    h("h2", { id: "spending" }, "Spending"),
    h("p", {}, times_ > 1.005 ? `Charged one by one, the same answers would have cost ${amount(balance.sequential, symbol)}: ${num(Math.round(times_ * 10) / 10)} times as much${balance.sequential > balance.budget ? ", more than the whole budget" : ""}.` : "So far every answer could meet every other in some row, so overlap has saved nothing yet."),
    steps(series, { limit: balance.budget, limitName: "budget", label, xs: axis, symbol }),
    legend([["ours", "spent, by maximum overlap"], ["theirs", "one by one (sequential)"], ["limit", "budget"]]),
    beyond ? h("p", { class: "hint" }, "The same at the budget’s scale, by overlap alone:") : null,
    beyond ? steps([line("spent", "ours", "spent")], { limit: balance.budget, limitName: "budget", label: `Spending by overlap alone, up to ${symbol} ${num(balance.budget)}`, xs: axis, symbol }) : null,
    behind("Table", table([
      ["After charge", (one) => num(one.number), { number: true }],
      ["Time", (one) => time(one.time)],
      ["Spent", (one) => amount(one.spent, symbol), { number: true }],
      ["One by one", (one) => amount(one.sequential, symbol), { number: true }],
    ], points.slice(-100).reverse(), { caption: "Spending over time, the latest first" })));
}

function people(balance, { charged }, { symbol }) {
  const names = Object.entries(balance.analysts);
  if (!names.length) return null;
  return h("section", { class: "card", "aria-labelledby": "people" }, h("h2", { id: "people" }, "Analysts"), table([
    ["Name", ([name]) => h("a", { href: route.address("charges", { analyst: name }) }, name)],
    ["Spent", ([, one]) => both(one, "spent", symbol, balance.delta), { number: true }],
    ["Quota", ([, one]) => (one.quota === null ? "only the budget" : both(one, "quota", symbol, balance.delta)), { number: true }],
    ["Share", ([name, one]) => share(one.spent, one.quota ?? balance.budget, `${name} has spent ${num(one.spent)} of ${num(one.quota ?? balance.budget)}`)],
    ["Charges", ([name]) => num(charged[name] ?? 0), { number: true }],
  ], names, { caption: "What each analyst has spent" }));
}
