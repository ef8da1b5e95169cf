// Whose an amount is: a cost is for one row, what was spent and a quota are for a person, who may have several rows.
// With a budget of (ε, δ) an amount is said as the ε at that δ as well.

import { amount, h, num } from "./dom.js";

const several = (session) => session.rows_per_person > 1;

/** What stands after an amount for one row, or for a person; nothing where everyone has one row. */
export const forRow = (session) => (several(session) ? " for one row" : "");
export const forPerson = (session) => (several(session) ? " for a person" : "");

/** The same in the heading of a column. */
export const rowHeading = (heading, session) => (several(session) ? `${heading}, one row` : heading);
export const personHeading = (heading, session) => (several(session) ? `${heading}, a person` : heading);

/** What a person may pay where a row pays a cost. */
export const times = (session) => (several(session) ? `up to ${num(session.group_factor)} times that for a person` : "");

/** What a reader must know where amounts of both kinds stand on a page. */
export const bothKinds = (session) => (several(session) ? h("p", { class: "hint" }, `What was spent, budgets and quotas are for a person. A cost is for one row; a person may have ${num(session.rows_per_person)}, which cost up to ${num(session.group_factor)} times that.`) : null);

/** A δ as people write it: 1e−6. */
export const small = (delta) => (delta < 1e-3 ? delta.toExponential().replace("-", "−") : num(delta));

/** An amount as the ε at the δ of the budget, in brackets; "" where the budget has none. An ε is always for a person. */
export const inEpsilon = (epsilon, delta, whose = "") => (delta === undefined || delta === null || epsilon === undefined ? "" : ` (ε\u00a0${epsilon === null ? "∞" : num(epsilon)} at δ\u00a0=\u00a0${small(delta)}${whose})`);

/** An amount of a balance or a share: `name` is spent, quota, budget or remaining. */
export const both = (one, name, symbol, delta) => `${amount(one[name], symbol)}${one[name] === null ? "" : inEpsilon(one.epsilon?.[name], delta)}`;
