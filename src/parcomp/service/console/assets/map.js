// The budget map: for two attributes, the most that was spent on any row of each cell; a region is chosen by drawing.

import * as api from "./api.js";
import { heat, scale } from "./charts.js";
import { amount, behind, briefSql, field, h, notice, num, plural, select, table } from "./dom.js";
import * as route from "./route.js";
import { binWidth, kindOf, rowText, sizeOf } from "./sqltext.js";
import { forRow } from "./whose.js";

const MOST_MAPS = 8;

export async function render({ session, domain, parameters, signal }) {
  const names = Object.keys(domain.attributes);
  if (names.length < 2) return [h("h1", {}, "Map"), notice("", "A map needs two attributes, and this domain has one.")];
  const x = names.includes(parameters.x) ? parameters.x : names[0];
  const y = names.includes(parameters.y) && parameters.y !== x ? parameters.y : names.find((name) => name !== x);
  const thirds = names.filter((name) => name !== x && name !== y && (sizeOf(domain.attributes[name]) ?? 99) <= MOST_MAPS);
  const z = thirds.includes(parameters.z) ? parameters.z : "";
  const [found, small] = await Promise.all([api.get("/v1/budget/map", { x, y }, { signal }), z ? api.get("/console/maps", { x, y, z }, { signal }) : null]);
  const { symbol } = session;
  const [xs, ys] = [[x, found.x_labels], [y, found.y_labels]].map(([name, labels]) => labels.map((label) => said(domain.attributes[name], label)));
  const limit = found.limit;
  const most = Math.max(...found.cells.flat());
  // Where little was spent, shades up to the budget would all look alike.
  const shades = parameters.shades ?? (most > 0 && most < limit / 2 ? "most" : "budget");
  const top = shades === "most" && most > 0 ? most : limit;
  const detail = h("div", {});
  const across = select(names.filter((name) => name !== y), x, { onchange: () => route.go("map", { x: across.value, y, z, shades: parameters.shades }) });
  const down = select(names.filter((name) => name !== x), y, { onchange: () => route.go("map", { x, y: down.value, z, shades: parameters.shades }) });
  const apart = select([["", "all together"], ...thirds.map((name) => [name, `each ${name}`])], z, { onchange: () => route.go("map", { x, y, z: apart.value, shades: parameters.shades }) });
  const upTo = select([["budget", "the budget"], ["most", "the most spent"]], shades, { onchange: () => route.go("map", { x, y, z, shades: upTo.value }) });
  const chosen = parameters.region?.split(".").map(Number);
  const valid = chosen?.length === 4 && chosen.every(Number.isInteger) && chosen[0] >= 0 && chosen[1] >= 0 && chosen[2] < xs.length && chosen[3] < ys.length ? chosen : null;

  async function pick(left, low, right, high) {
    route.note("map", { x, y, z, shades: parameters.shades, region: [left, low, right, high].join(".") });
    const where = { [x]: joined(domain.attributes[x], found.x_labels.slice(left, right + 1)), [y]: joined(domain.attributes[y], found.y_labels.slice(low, high + 1)) };
    const region = await api.post("/console/region", { where }, { signal });
    detail.replaceChildren(told(domain, region, [[x, found.x_labels[left], found.x_labels[right]], [y, found.y_labels[low], found.y_labels[high]]].map(([name, from, to]) => `${name} ${said(domain.attributes[name], spanned(from, to))}`).join(", "), session));
  }

  if (valid) pick(...valid).catch(() => {});
  else detail.replaceChildren(h("section", { class: "card" }, h("h2", {}, "A region"), h("p", { class: "muted" }, "Choose a cell, or draw over several: here stands what is left there and which charges cover it. By keyboard: arrows, then Enter.")));
  const tell = (i, j) => `${x} ${xs[i]}, ${y} ${ys[j]}: ${amount(found.cells[i][j], symbol)} spent, ${amount(Math.max(limit - found.cells[i][j], 0), symbol)} left`;
  return [
    h("h1", {}, "Map"),
    h("div", { class: "row" }, field("Across", across), field("Up", down), thirds.length ? field("Apart", apart) : null, most > 0 ? field("Shades up to", upTo) : null),
    most === 0 ? notice("", "Nothing was asked yet, so all of the budget is left everywhere. Cells darken as analysts ask.") : h("p", { class: "muted" }, `The most spent on any row of a cell is ${amount(most, symbol)}; the least is ${amount(Math.min(...found.cells.flat()), symbol)}, of ${amount(limit, symbol)} that may be spent on a row.`),
    h("div", { class: "columns main-side" },
      h("section", { class: "card", "aria-label": "The map" },
        heat({ xs, ys, xName: x, yName: y, cells: found.cells, top, tell, pick, chosen: valid, plain: top < limit, label: `Budget map of ${x} and ${y}. Arrow keys move, Enter chooses a cell.` }),
        top < limit ? scale(top, symbol) : scale(top, symbol, "= all"),
        behind("Table", table([[`${y} \\ ${x}`, ([label]) => label], ...xs.map((label, i) => [label, ([, j]) => num(found.cells[i][j]), { number: true }])], ys.map((label, j) => [label, j]).reverse(), { caption: `The most spent on any row, by ${x} and ${y}`, stacked: false }))),
      detail),
    small ? multiples(small, domain, session, top) : null,
  ];
}

/** The same map for each value of a third attribute, small, side by side. */
function multiples({ z, maps }, domain, { symbol }, top) {
  return h("section", { class: "card", "aria-labelledby": "apart" }, h("h2", { id: "apart" }, `For each ${z}`), h("div", { class: "cards" }, maps.map((one) => {
    const [xs, ys] = [[one.x, one.x_labels], [one.y, one.y_labels]].map(([name, labels]) => labels.map((label) => said(domain.attributes[name], label)));
    const value = one.value === null ? "no value" : String(one.value);
    const tell = (i, j) => `${z} ${value}, ${one.x} ${xs[i]}, ${one.y} ${ys[j]}: ${amount(one.cells[i][j], symbol)} spent`;
    return h("div", {}, h("h3", {}, `${z} = ${value}, at most ${amount(Math.max(...one.cells.flat()), symbol)}`), heat({ xs, ys, xName: one.x, yName: one.y, cells: one.cells, top, plain: top < one.limit, tell, label: `Budget map of ${one.x} and ${one.y} where ${z} is ${value}` }));
  })));
}

function said(attribute, label) {
  if (label === null) return "no value";
  const [from, to] = typeof label === "object" ? [label.from, label.to] : [label, label];
  return kindOf(attribute) === "bins" ? `${num(from)}–${num(to + binWidth(attribute))}` : from === to ? (typeof from === "number" ? num(from) : String(from)) : `${from} – ${to}`;
}
const end = (label, side) => (label !== null && typeof label === "object" ? label[side] : label);
const spanned = (first, last) => (end(first, "from") === end(last, "to") ? end(first, "from") : { from: end(first, "from") ?? "no value", to: end(last, "to") ?? "no value" });

/** The values of some bands, as a workload file writes them. */
function joined(attribute, labels) {
  return labels.map((label) => {
    if (label === null || typeof label !== "object") return label;
    if (kindOf(attribute) !== "bins") return label;
    return { from: label.from, below: Math.min(Number((label.to + binWidth(attribute)).toPrecision(12)), Number(attribute.high)) };
  });
}

function told(domain, { charges, total, maximum, left }, where, session) {
  const { symbol } = session;
  const members = charges.filter((one) => one.maximum);
  return h("section", { class: "card", "aria-live": "polite" },
    h("h2", {}, where),
    h("p", { class: "big" }, `${amount(left, symbol)} left${forRow(session)}`),
    total === 0 ? h("p", { class: "muted" }, "No charge covers any of these rows.") : [
      h("p", {}, `${plural(total, "charge covers", "charges cover")} rows here. ${maximum.exact ? `The row that has paid most paid ${amount(maximum.upper, symbol)}` : `Some row has paid ${amount(maximum.lower, symbol)}, none more than ${amount(maximum.upper, symbol)}`}, for ${plural(members.length, "of them", "of them")}.`),
      maximum.witness ? h("p", { class: "muted" }, `That row: ${rowText(domain, maximum.witness)}.`) : null,
      h("ul", { class: "plain" }, charges.slice(0, Math.max(6, Math.min(members.length, 12))).map((one) => h("li", {}, h("a", { href: route.address("charge", { number: one.number }) }, num(one.number)), h("span", { class: "muted" }, ` ${amount(one.cost, symbol)} · ${one.analyst || "custodian"}${one.maximum ? " · in the maximum" : ""}`), h("br"), briefSql(one.sql)))),
      total > Math.max(6, Math.min(members.length, 12)) ? h("p", { class: "hint" }, `and ${num(total - Math.max(6, Math.min(members.length, 12)))} more`) : null,
    ]);
}
