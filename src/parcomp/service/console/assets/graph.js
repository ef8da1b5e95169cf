// The query graph: charges that can meet in one row are joined; many are grouped, and the maximum overlap is ringed.

import * as api from "./api.js";
import { drawn, legend } from "./charts.js";
import { amount, behind, empty, field, h, newId, num, plural, s, select, sqlText, table, time } from "./dom.js";
import * as route from "./route.js";
import { rowText } from "./sqltext.js";

const MOST = 70;
const ROUNDS = 260;

export async function render({ session, domain, parameters, signal }) {
  const { symbol } = session;
  const graph = await api.get("/v1/graph", {}, { signal });
  if (!graph.nodes.length) {
    const own = session.role !== "custodian";
    return [h("h1", {}, "Graph"), empty("No charges yet", own ? "What you ask becomes a node here, joined to what it can meet in one row." : "Each answer becomes a node here, joined to those that it can meet in one row.", own ? h("a", { class: "button primary", href: route.address("ask") }, "Ask something") : h("a", { class: "button primary", href: route.address("analysts") }, "Make a key for an analyst"))];
  }
  const analysts = [...new Set(graph.nodes.map((one) => one.analyst))].sort();
  const state = { analyst: parameters.analyst ?? "", since: parameters.since ?? "", charge: parameters.charge ?? "" };
  const box = h("div", {});
  const detail = h("div", {});
  const who = select([["", "everyone"], ...analysts.map((one) => [one, one || "custodian"])], state.analyst, { onchange: () => { state.analyst = who.value; draw(); } });
  const since = h("input", { type: "date", value: state.since, onchange: () => { state.since = since.value; draw(); } });

  async function pick(group) {
    if (group.nodes.length > 1) {
      detail.replaceChildren(many(group, session));
      return;
    }
    state.charge = String(group.nodes[0].number);
    route.note("graph", state);
    detail.replaceChildren(one(await api.get(`/console/charges/${state.charge}`, {}, { signal }), group.nodes[0], session));
  }

  function draw() {
    route.note("graph", state);
    const nodes = graph.nodes.filter((one) => (!state.analyst || one.analyst === state.analyst) && (!state.since || one.time >= state.since));
    const groups = grouped(nodes, graph.edges);
    box.replaceChildren(nodes.length ? picture(groups, state, pick, symbol) : h("p", { class: "muted" }, "No charge is left by this filter."));
    note.textContent = groups.list.length < nodes.length ? `${plural(nodes.length, "charge")} in ${plural(groups.list.length, "group")}: those of one color class, which no row pays for twice, are drawn as one.` : `${plural(nodes.length, "charge")}, ${plural(graph.colors, "color class", "color classes")}: no row pays for two of one color.`;
  }
  const note = h("p", { class: "hint" });
  draw();
  if (state.charge) {
    const node = graph.nodes.find((one) => String(one.number) === state.charge);
    if (node) pick({ nodes: [node] }).catch(() => {});
  }
  if (!detail.childNodes.length) detail.replaceChildren(h("section", { class: "card" }, h("h2", {}, "A charge"), h("p", { class: "muted" }, "Choose a node to see its SQL, who asked it and what it added.")));
  const { maximum } = graph;
  return [
    h("h1", {}, "Graph"),
    h("section", { class: "card", "aria-label": "The maximum overlap" },
      h("p", {}, h("strong", {}, maximum.exact ? `The maximum overlap is ${amount(maximum.upper, symbol)}` : `The maximum overlap is between ${amount(maximum.lower, symbol)} and ${amount(maximum.upper, symbol)}`), `, paid for ${plural(maximum.members.length, "charge")} by one possible row${maximum.witness ? `: ${rowText(domain, maximum.witness)}` : ""}.`),
      graph.left_out ? h("p", { class: "hint" }, `The latest ${num(graph.nodes.length)} of ${num(graph.charges)} charges are shown; the overlap is that of all.`) : null),
    h("div", { class: "row" }, session.role === "custodian" ? field("Asked by", who) : null, field("Since", since)),
    h("div", { class: "columns main-side" },
      h("section", { class: "card", "aria-label": "The query graph" }, box, legend([["ring", "pays for the maximum overlap"]]), note,
        behind("Table", table([
          ["Charge", (node) => h("a", { href: route.address("charge", { number: node.number }) }, num(node.number)), { number: true }],
          ["Analyst", (node) => node.analyst || "custodian"],
          ["Asked", (node) => time(node.time)],
          ["Cost", (node) => amount(node.cost, symbol), { number: true }],
          ["Color class", (node) => num(node.color + 1), { number: true }],
          ["In the maximum", (node) => (node.maximum ? "yes" : "no")],
        ], graph.nodes.slice().reverse().slice(0, 200), { caption: "Charges of the graph" }))),
      detail),
  ];
}

/** Each charge by itself where there are few; else by color class and by whether it is in the maximum. */
function grouped(nodes, edges) {
  const single = nodes.length <= MOST;
  const classes = new Map();
  for (const node of nodes) classes.set(node.color, (classes.get(node.color) ?? 0) + 1);
  // Where there are too many classes even so, the smaller ones are drawn together.
  const large = new Set([...classes].sort((one, other) => other[1] - one[1]).slice(0, MOST / 2).map(([color]) => color));
  const keyOf = (node) => (single ? `${node.number}` : `${large.has(node.color) ? node.color : "rest"}/${node.maximum}`);
  const found = new Map();
  const place = new Map();
  for (const node of nodes) {
    const key = keyOf(node);
    if (!found.has(key)) found.set(key, { nodes: [], color: large.has(node.color) || single ? node.color : 7, maximum: node.maximum });
    found.get(key).nodes.push(node);
    place.set(node.number, found.get(key));
  }
  const list = [...found.values()];
  list.forEach((group, index) => Object.assign(group, { index, cost: Math.max(...group.nodes.map((one) => one.cost)) }));
  const joined = new Map();
  for (const [one, other] of edges) {
    const [a, b] = [place.get(one), place.get(other)];
    if (!a || !b || a === b) continue;
    const key = a.index < b.index ? `${a.index},${b.index}` : `${b.index},${a.index}`;
    joined.set(key, (joined.get(key) ?? 0) + 1);
  }
  return { list, joined: [...joined].map(([key, count]) => [...key.split(",").map(Number), count]) };
}

/** Nodes push each other away and edges pull; the start is a circle by color, so the same graph is drawn the same way. */
function laidOut({ list, joined }, width, height) {
  const count = list.length;
  const order = list.slice().sort((one, other) => one.color - other.color || one.index - other.index);
  order.forEach((group, place) => {
    const angle = (place / count) * 2 * Math.PI;
    group.x = Math.cos(angle) * 0.6 + Math.cos(place * 7) * 0.03;
    group.y = Math.sin(angle) * 0.6 + Math.sin(place * 5) * 0.03;
  });
  const near = 1.6 / Math.sqrt(count || 1);
  for (let round = 0; round < ROUNDS; round += 1) {
    const heat = 0.1 * (1 - round / ROUNDS);
    for (const group of list) { group.dx = -group.x * 0.12; group.dy = -group.y * 0.12; }
    for (let i = 0; i < count; i += 1) {
      for (let j = i + 1; j < count; j += 1) {
        const [a, b] = [list[i], list[j]];
        const [x, y] = [a.x - b.x, a.y - b.y];
        const push = (near * near) / Math.max(x * x + y * y, 1e-4);
        a.dx += x * push; a.dy += y * push; b.dx -= x * push; b.dy -= y * push;
      }
    }
    const weak = Math.min(1, (2 * count) / (joined.length || 1));
    for (const [i, j] of joined) {
      const [a, b] = [list[i], list[j]];
      const [x, y] = [a.x - b.x, a.y - b.y];
      const pull = (Math.hypot(x, y) / near) * 0.5 * weak;
      a.dx -= x * pull; a.dy -= y * pull; b.dx += x * pull; b.dy += y * pull;
    }
    for (const group of list) {
      const step = Math.hypot(group.dx, group.dy) || 1;
      group.x += (group.dx / step) * Math.min(step, heat);
      group.y += (group.dy / step) * Math.min(step, heat);
    }
  }
  // A screen is wide: what came out tall is turned.
  const span = (values) => Math.max(...values) - Math.min(...values);
  if (width > height && span(list.map((one) => one.y)) > span(list.map((one) => one.x))) for (const group of list) [group.x, group.y] = [group.y, group.x];
  const xs = list.map((one) => one.x);
  const ys = list.map((one) => one.y);
  const [left, right, high, low] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const zoom = Math.min((width - 80) / Math.max(right - left, 0.4), (height - 80) / Math.max(low - high, 0.4), 150 / near);
  for (const group of list) {
    group.px = width / 2 + (group.x - (left + right) / 2) * zoom;
    group.py = height / 2 + (group.y - (high + low) / 2) * zoom;
  }
}

function picture(groups, state, pick, symbol) {
  return drawn((width) => {
    const height = groups.list.length < 8 ? 300 : Math.min(Math.max(width * 0.66, 320), 540);
    laidOut(groups, width, height);
    const { list, joined } = groups;
    const dearest = Math.max(...list.map((one) => one.cost));
    const radius = (group) => 6 + 9 * Math.sqrt(group.cost / dearest) + (group.nodes.length > 1 ? 3 + 2.2 * Math.log2(group.nodes.length) : 0);
    const crowded = joined.length > 600;
    const lines = joined.map(([i, j, count]) => s("line", { x1: list[i].px, y1: list[i].py, x2: list[j].px, y2: list[j].py, class: "edge", "stroke-width": Math.min(0.8 + Math.log2(count) * 0.5, 4) * (crowded ? 0.4 : 1) }));
    const marks = [];
    const nodes = list.map((group) => {
      const several = group.nodes.length > 1;
      const [first] = group.nodes;
      const label = several ? `${group.nodes.length} charges of one class, up to ${symbol} ${num(group.cost)} each${group.maximum ? ", in the maximum overlap" : ""}` : `Charge ${first.number}, ${symbol} ${num(first.cost)}, ${first.analyst || "custodian"}${group.maximum ? ", in the maximum overlap" : ""}`;
      const chosen = () => { marks.forEach((one) => one.classList.remove("picked")); circle.classList.add("picked"); pick(group); };
      const circle = s("circle", { cx: group.px, cy: group.py, r: radius(group), class: `node k${group.color % 7}${group.maximum ? " ringed" : ""}${!several && String(first.number) === state.charge ? " picked" : ""}` });
      marks.push(circle);
      const g = s("g", { role: "button", tabindex: 0, "aria-label": label, onclick: chosen, onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); chosen(); } } }, s("title", {}, label), circle,
        several || list.length <= 24 ? s("text", { x: group.px, y: group.py + radius(group) + 13, class: "tick middle" }, several ? `×${group.nodes.length}` : `${first.number}`) : null);
      return g;
    });
    return s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", id: newId("graph"), "aria-label": `Query graph of ${list.length} nodes and ${joined.length} edges` }, lines, nodes);
  });
}

const one = (charge, node, { symbol }) => h("section", { class: "card", "aria-live": "polite" },
  h("h2", {}, h("a", { href: route.address("charge", { number: charge.number }) }, `Charge ${num(charge.number)}`)),
  h("p", {}, sqlText(charge.sql)),
  h("dl", {}, h("dt", {}, "Asked by"), h("dd", {}, charge.analyst || "custodian"), h("dt", {}, "When"), h("dd", {}, time(charge.time)), h("dt", {}, "Cost"), h("dd", {}, amount(charge.cost, symbol)), h("dt", {}, "Added"), h("dd", {}, charge.adds === 0 ? `${symbol} 0` : amount(charge.adds, symbol)), h("dt", {}, "Color class"), h("dd", {}, num(node.color + 1)), h("dt", {}, "Maximum"), h("dd", {}, node.maximum ? "in it" : "not in it")));

const many = (group, { symbol }) => h("section", { class: "card", "aria-live": "polite" },
  h("h2", {}, `${num(group.nodes.length)} charges`),
  h("p", { class: "muted" }, group.color === 7 ? "Smaller color classes, drawn together." : "One color class: no row pays for two of them."),
  table([["Charge", (node) => h("a", { href: route.address("charge", { number: node.number }) }, num(node.number)), { number: true }], ["By", (node) => node.analyst || "custodian"], ["Cost", (node) => amount(node.cost, symbol), { number: true }]], group.nodes.slice(-50).reverse(), { caption: "Charges of this group" }),
  group.nodes.length > 50 ? h("p", { class: "hint" }, "The latest 50.") : null);
