// Many charges: a lane for each color class, of which a row pays for one charge at most, and no edges but those asked for.
// The members of a maximum overlap are all of different classes, so that they are one in each lane: a path from lane to lane.

import { drawn } from "./charts.js";
import { newId, num, plural, s } from "./dom.js";
import { colorOf, labelOf } from "./nodes.js";

const MOST_LANES = 20;
const PITCH = 11;

/** Lanes, the largest class first; where there are too many, the smallest classes share the last one. */
export function lanesOf(nodes) {
  const classes = new Map();
  for (const node of nodes) classes.set(node.color, [...(classes.get(node.color) ?? []), node]);
  const sorted = [...classes].sort(([one, first], [other, second]) => second.length - first.length || one - other);
  const kept = sorted.length > MOST_LANES ? MOST_LANES - 1 : sorted.length;
  const lanes = sorted.slice(0, kept).map(([color, members]) => ({ color, classes: 1, nodes: members }));
  const rest = sorted.slice(kept);
  if (rest.length) lanes.push({ color: null, classes: rest.length, nodes: rest.flatMap(([, members]) => members).sort((one, other) => one.number - other.number) });
  return lanes;
}

export const laneName = (lane) => (lane.color === null ? `${plural(lane.classes, "smaller class", "smaller classes")}, drawn together` : `Class ${num(lane.color + 1)}`);

/** The drawing; `pick` is told a charge, `open` a lane. Lines lead from the chosen charge to those that it can meet. */
export function lanesPicture(nodes, edges, state, pick, open, symbol) {
  const lanes = lanesOf(nodes);
  const meets = new Map(nodes.map((node) => [node.number, []]));
  for (const [one, other] of edges) if (meets.has(one) && meets.has(other)) { meets.get(one).push(other); meets.get(other).push(one); }
  const dearest = Math.max(...nodes.map((one) => one.cost));
  return drawn((width) => {
    const names = width < 520 ? 74 : 112;
    const across = Math.max(Math.floor((width - names - 12) / PITCH), 1);
    const places = new Map();
    const dots = new Map();
    let y = 8;
    const wires = s("g", { class: "wires", "aria-hidden": "true" });
    const chosen = (node) => { light(node.number); pick(node); };
    const drawnLanes = lanes.map((lane) => {
      const rows = Math.ceil(lane.nodes.length / across);
      const height = Math.max(rows * PITCH + 8, 24);
      const top = y + (height - rows * PITCH) / 2;
      const marks = lane.nodes.map((node, index) => {
        const [px, py] = [names + (index % across) * PITCH + PITCH / 2, top + Math.floor(index / across) * PITCH + PITCH / 2];
        places.set(node.number, [px, py]);
        const dot = s("circle", { cx: px, cy: py, r: 2.4 + 2.1 * Math.sqrt(node.cost / dearest), class: `node small ${colorOf(node.color)}${node.maximum ? " ringed" : ""}`, onclick: (event) => { event.stopPropagation(); chosen(node); } }, s("title", {}, labelOf(node, symbol)));
        dots.set(node.number, dot);
        return dot;
      });
      const ringed = lane.nodes.filter((node) => node.maximum).length;
      const said = `${laneName(lane)}: ${plural(lane.nodes.length, "charge")}, up to ${symbol} ${num(Math.max(...lane.nodes.map((one) => one.cost)))} each${ringed ? `, ${num(ringed)} in the maximum overlap` : ""}`;
      const band = s("rect", { x: 0, y, width, height: height - 2, rx: 4, class: "lane" });
      const label = s("text", { x: 8, y: y + height / 2 + 3, class: "tick strong" }, lane.color === null ? "others" : `${width < 520 ? "" : "class "}${lane.color + 1}`);
      const count = s("text", { x: names - 10, y: y + height / 2 + 3, class: "tick end" }, `×${num(lane.nodes.length)}`);
      y += height;
      return s("g", { role: "button", tabindex: 0, "aria-label": said, class: "lane-button", onclick: () => open(lane), onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open(lane); } } }, s("title", {}, said), band, label, count, marks);
    });
    const members = nodes.filter((node) => node.maximum).map((node) => places.get(node.number)).sort((one, other) => one[1] - other[1] || one[0] - other[0]);
    const path = members.length > 1 ? s("path", { d: members.map(([px, py], index) => `${index ? "L" : "M"}${px.toFixed(1)},${py.toFixed(1)}`).join(""), class: "maximum-path", "aria-hidden": "true" }) : null;
    function light(number) {
      const [px, py] = places.get(number);
      dots.forEach((dot, other) => dot.classList.toggle("picked", other === number));
      wires.replaceChildren(...meets.get(number).map((other) => s("line", { x1: px, y1: py, x2: places.get(other)[0], y2: places.get(other)[1], class: "wire" })));
    }
    if (places.has(Number(state.charge))) light(Number(state.charge));
    return s("svg", { viewBox: `0 0 ${width} ${y + 4}`, width, height: y + 4, role: "group", id: newId("graph"), "aria-label": `Query graph of ${num(nodes.length)} charges in ${plural(lanes.length, "lane")}; lines appear for a charge that is chosen` }, drawnLanes, wires, path);
  });
}
