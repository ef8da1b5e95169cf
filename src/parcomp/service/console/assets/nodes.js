// A few charges as nodes and edges: size is the cost, color the class, and the members of the maximum are ringed.

import { drawn } from "./charts.js";
import { newId, num, s } from "./dom.js";

const ROUNDS = 260;
/** Colors that can be told apart. Classes beyond them are gray, and told by their number in the node. */
export const COLORS = 7;
export const colorOf = (color) => (color < COLORS ? `k${color}` : "plain-class");

export const labelOf = (node, symbol) => `Charge ${node.number}, ${symbol} ${num(node.cost)}, ${node.analyst || "custodian"}, class ${node.color + 1}${node.maximum ? ", in the maximum overlap" : ""}`;

/** Nodes push each other away and edges pull; the start is a circle by color, so the same graph is drawn the same way. */
function laidOut(list, joined, width, height) {
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

/** The drawing; `pick` is told the node that was chosen. */
export function nodesPicture(nodes, edges, state, pick, symbol) {
  const list = nodes.map((node, index) => ({ node, index, color: node.color }));
  const place = new Map(list.map((one) => [one.node.number, one.index]));
  const joined = edges.filter(([one, other]) => place.has(one) && place.has(other)).map(([one, other]) => [place.get(one), place.get(other)]);
  const dearest = Math.max(...nodes.map((one) => one.cost));
  const radius = ({ node }) => 7 + 9 * Math.sqrt(node.cost / dearest);
  return drawn((width) => {
    const height = list.length < 8 ? 300 : Math.min(Math.max(width * 0.66, 320), 540);
    laidOut(list, joined, width, height);
    const lines = joined.map(([i, j]) => s("line", { x1: list[i].px, y1: list[i].py, x2: list[j].px, y2: list[j].py, class: "edge" }));
    const marks = [];
    const shown = list.map((one) => {
      const { node } = one;
      const chosen = () => { marks.forEach((mark) => mark.classList.remove("picked")); circle.classList.add("picked"); pick(node); };
      const circle = s("circle", { cx: one.px, cy: one.py, r: radius(one), class: `node ${colorOf(node.color)}${node.maximum ? " ringed" : ""}${String(node.number) === state.charge ? " picked" : ""}` });
      marks.push(circle);
      return s("g", { role: "button", tabindex: 0, "aria-label": labelOf(node, symbol), onclick: chosen, onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); chosen(); } } },
        s("title", {}, labelOf(node, symbol)), circle,
        node.color >= COLORS ? s("text", { x: one.px, y: one.py + 4, class: "class-number middle", "aria-hidden": "true" }, String(node.color + 1)) : null,
        list.length <= 24 ? s("text", { x: one.px, y: one.py + radius(one) + 14, class: "tick middle" }, String(node.number)) : null);
    });
    return s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "group", id: newId("graph"), "aria-label": `Query graph of ${list.length} charges and ${joined.length} pairs that can meet` }, lines, shown);
  });
}
