// The domain: attributes, their values and levels, to be searched.

import { h, num, plural } from "./dom.js";
import * as route from "./route.js";
import { binWidth, kindOf, name, sizeOf } from "./sqltext.js";

export async function render({ session, domain, parameters }) {
  const search = h("input", { type: "search", value: parameters.find ?? "", placeholder: "Find an attribute, a value or a group", "aria-label": "Find an attribute, a value or a group" });
  const list = h("div", { class: "cards" });
  const draw = () => {
    const sought = search.value.trim().toLowerCase();
    route.note("domain", { find: search.value });
    const cards = Object.entries(domain.attributes).map(([attribute, one]) => card(session, attribute, one, sought)).filter(Boolean);
    list.replaceChildren(...(cards.length ? cards : [h("p", { class: "muted" }, "No attribute, value or group is called that.")]));
  };
  search.addEventListener("input", draw);
  draw();
  return [h("h1", {}, "Domain"), h("p", { class: "muted" }, `${session.table}: ${plural(Object.keys(domain.attributes).length, "attribute")}. What is declared here is public; nothing on this page comes from the data.`), h("div", { class: "row" }, search), list];
}

const GROUPS = 60;
const MEMBERS = 60;

/** A level: its groups, and which values each holds. Of a search, the groups that are called so, and those of values that are. */
function levelOf(level, groups, sought) {
  const has = (text) => String(text).toLowerCase().includes(sought);
  const found = Object.entries(groups).map(([group, members]) => [group, has(group) ? members : members.filter(has), members.length]).filter(([, members]) => members.length);
  if (!found.length) return null;
  const rest = (count, shown) => (count > shown ? ` and ${num(count - shown)} more${sought ? "" : "; search to see them"}` : "");
  return h("details", { class: "behind level", open: sought ? true : null },
    h("summary", {}, h("strong", {}, level), `: ${plural(Object.keys(groups).length, "group")}`),
    h("dl", { class: "members" }, found.slice(0, GROUPS).map(([group, members, all]) => [
      h("dt", {}, group, h("span", { class: "hint" }, ` ${num(all)}`)),
      h("dd", {}, members.slice(0, MEMBERS).map(String).join(", "), h("span", { class: "muted" }, rest(members.length, MEMBERS)))])),
    found.length > GROUPS ? h("p", { class: "hint" }, `The first ${GROUPS} of ${plural(found.length, "group")}; search to see others.`) : null);
}

const KINDS = { values: "categories", bins: "numbers, known in bins", step: "decimals", whole: "whole numbers", date: "dates" };

function card(session, attribute, one, sought) {
  const values = one.values ?? [];
  const levels = Object.entries(one.levels ?? {});
  const own = attribute.toLowerCase().includes(sought);
  const matching = own ? values : values.filter((value) => String(value).toLowerCase().includes(sought));
  const named = levels.filter(([level, groups]) => level.toLowerCase().includes(sought) || Object.keys(groups).some((group) => group.toLowerCase().includes(sought)));
  if (!own && !matching.length && !named.length) return null;
  const kind = kindOf(one);
  const size = sizeOf(one);
  const range = kind === "values" ? null : `${num(one.low)} ${kind === "bins" ? "up to" : "to"} ${num(one.high)}${kind === "bins" ? ` in ${num(one.bins)} bins of ${num(binWidth(one))}` : kind === "step" ? ` by ${one.step}` : kind === "date" ? `, by ${one.unit ?? "day"}` : ""}`;
  const shownValues = matching.slice(0, 60);
  return h("section", { class: "card", "aria-label": attribute },
    h("h2", {}, attribute),
    h("p", { class: "muted" }, `${KINDS[kind]}${size ? `, ${plural(size, "value")}` : ""}${one.nullable ? ", may have no value" : ""}${one.clip ? ", beyond the ends counted at the ends" : ""}`),
    range ? h("p", {}, range) : h("ul", { class: "values" }, shownValues.map((value) => h("li", {}, String(value))), matching.length > shownValues.length ? h("li", { class: "muted" }, `and ${num(matching.length - shownValues.length)} more; search to see them`) : null),
    levels.map(([level, groups]) => levelOf(level, groups, own || level.toLowerCase().includes(sought) ? "" : sought)),
    session.asks && size && size <= 1000 ? h("p", {}, h("a", { href: route.address("ask", { sql: `SELECT ${name(attribute)}, COUNT(*) FROM ${name(session.table)} GROUP BY ${name(attribute)}` }) }, `Count by ${attribute}`)) : null);
}
