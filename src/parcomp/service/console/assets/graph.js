// The query graph: charges that can meet in one row are joined. Many are drawn in lanes, and the maximum overlap is lit up.

import * as api from "./api.js";
import { legend } from "./charts.js";
import { amount, behind, briefSql, empty, field, h, num, plural, table, time } from "./dom.js";
import { laneName, lanesPicture } from "./lanes.js";
import { COLORS, nodesPicture } from "./nodes.js";
import * as route from "./route.js";
import { rowText } from "./sqltext.js";
import { whom } from "./whom.js";
import { forPerson, forRow, rowHeading } from "./whose.js";

/** Up to here nodes and edges are told apart; beyond there are lanes. */
const MOST_NODES = 48;
const MOST_EDGES = 160;
const LISTED = 50;

export async function render({ session, domain, parameters, signal }) {
  const own = session.role !== "custodian";
  const state = { analyst: parameters.analyst ?? "", unnamed: parameters.unnamed ?? "", since: parameters.since ?? "", until: parameters.until ?? "", charge: parameters.charge ?? "" };
  const asked = () => api.get("/console/graph", { analyst: state.analyst, unnamed: state.unnamed, since: moment(state.since, 0), until: moment(state.until, 1) }, { signal });
  let graph = await asked();
  if (!graph.all) {
    return [h("h1", {}, "Graph"), empty("No charges yet", own ? "What you ask becomes a node here, joined to what it can meet in one row." : "Each answer becomes a node here, joined to those that it can meet in one row.", own ? h("a", { class: "button primary", href: route.address("ask") }, "Ask something") : h("a", { class: "button primary", href: route.address("analysts") }, "Make a key for an analyst"))];
  }
  const head = h("section", { class: "card", "aria-label": "The maximum overlap" });
  const drawing = h("section", { class: "card", "aria-label": "The query graph" });
  const detail = h("div", {});
  const filters = whom(graph.analysts, state, load);
  const since = h("input", { type: "date", value: state.since, onchange: () => { state.since = since.value; load(); } });
  const until = h("input", { type: "date", value: state.until, onchange: () => { state.until = until.value; load(); } });
  const unchosen = () => h("section", { class: "card" }, h("h2", {}, "A charge"), h("p", { class: "muted" }, "Choose one to see its SQL, who asked it and what it added."));

  async function pick(node) {
    state.charge = String(node.number);
    route.note("graph", state);
    detail.replaceChildren(one(await api.get(`/console/charges/${node.number}`, {}, { signal }), node, session));
  }
  const open = (lane) => detail.replaceChildren(several(lane, session));

  async function load() {
    route.note("graph", state);
    graph = await asked();
    draw();
    detail.replaceChildren(unchosen());
  }

  function draw() {
    const { nodes, edges, maximum } = graph;
    const filtered = state.analyst || state.unnamed || state.since || state.until;
    head.replaceChildren(...overlap(graph, domain, session, filtered).filter(Boolean));
    if (!nodes.length) {
      drawing.replaceChildren(h("p", { class: "muted" }, "No charge is left by this filter."));
      return;
    }
    const few = nodes.length <= MOST_NODES && edges.length <= MOST_EDGES;
    const beyond = few && graph.colors > COLORS;
    drawing.replaceChildren(
      few ? nodesPicture(nodes, edges, state, pick, session.symbol) : lanesPicture(nodes, edges, state, pick, open, session.symbol),
      legend([["ring", maximum.members.length > 1 && !few ? "pays for the maximum overlap: one in each lane, joined by a line" : "pays for the maximum overlap"], ...(beyond ? [["plain", "a class beyond the seventh, by its number"]] : [])]),
      h("p", { class: "hint" }, few
        ? `${plural(nodes.length, "charge")} in ${plural(graph.colors, "class", "classes")}, joined where they can meet in one row: no row pays for two of one class. Size is the cost, ${beyond ? `color the class up to the seventh` : "color the class"}.`
        : `${plural(nodes.length, "charge")} in ${plural(graph.colors, "class", "classes")}, one lane each: no row pays for two of one class. Choose a charge to see which it can meet, or a lane to list it.`),
      behind("Table", table([
        ["Charge", (node) => h("a", { href: route.address("charge", { number: node.number }) }, num(node.number)), { number: true }],
        ["Analyst", (node) => node.analyst || "custodian"],
        ["Asked", (node) => time(node.time)],
        [rowHeading("Cost", session), (node) => amount(node.cost, session.symbol), { number: true }],
        ["Class", (node) => num(node.color + 1), { number: true }],
        ["In the maximum", (node) => (node.maximum ? "yes" : "no")],
      ], nodes.slice().reverse().slice(0, 200), { caption: "Charges of the graph, the latest first" })));
  }

  draw();
  detail.replaceChildren(unchosen());
  const node = graph.nodes.find((one) => String(one.number) === state.charge);
  if (node) pick(node).catch(() => {});
  return [
    h("h1", {}, "Graph"),
    head,
    h("div", { class: "row" }, own ? null : field("Asked by", filters), field("Since", since), field("Until", until)),
    h("div", { class: "columns main-side" }, drawing, detail),
  ];
}

/** The beginning of a day in the reader's zone, or that of a day after it, as charges have their time. */
function moment(day, later) {
  if (!day) return "";
  const [year, month, date] = day.split("-").map(Number);
  return new Date(year, month - 1, date + later).toISOString();
}

function overlap({ maximum, nodes, charges, left_out: left }, domain, session, filtered) {
  const { symbol } = session;
  const whose = filtered ? "The maximum overlap of these charges" : "The maximum overlap";
  if (!charges) return [h("p", { class: "muted" }, "No charges, no overlap.")];
  return [
    h("p", {}, h("strong", {}, maximum.exact ? `${whose} is ${amount(maximum.upper, symbol)}` : `${whose} is between ${amount(maximum.lower, symbol)} and ${amount(maximum.upper, symbol)}`, forRow(session)), `, paid for ${plural(maximum.members.length, "charge")} by one possible row${maximum.witness ? `: ${rowText(domain, maximum.witness)}` : ""}.`),
    left ? h("p", { class: "hint" }, `Drawn are ${num(nodes.length)} of ${num(charges)} charges: the latest, and those that make the overlap, which is that of all. Choose days to see others.`) : null,
  ];
}

const one = (charge, node, session) => h("section", { class: "card", "aria-live": "polite" },
  h("h2", {}, h("a", { href: route.address("charge", { number: charge.number }) }, `Charge ${num(charge.number)}`)),
  h("p", {}, briefSql(charge.sql)),
  h("dl", {}, h("dt", {}, "Asked by"), h("dd", {}, charge.analyst || "custodian"), h("dt", {}, "When"), h("dd", {}, time(charge.time)), h("dt", {}, "Cost"), h("dd", {}, `${amount(charge.cost, session.symbol)}${forRow(session)}`), h("dt", {}, "Added"), h("dd", {}, `${amount(charge.adds, session.symbol)}${forPerson(session)}`), h("dt", {}, "Class"), h("dd", {}, num(node.color + 1)), h("dt", {}, "Maximum"), h("dd", {}, node.maximum ? "in it" : "not in it")));

const several = (lane, session) => h("section", { class: "card", "aria-live": "polite" },
  h("h2", {}, laneName(lane)),
  h("p", { class: "muted" }, lane.color === null ? `${plural(lane.nodes.length, "charge")}. Two of different classes here may meet in one row.` : `${plural(lane.nodes.length, "charge")}. No row pays for two of them.`),
  table([["Charge", (node) => h("a", { href: route.address("charge", { number: node.number }) }, num(node.number)), { number: true }], ["By", (node) => node.analyst || "custodian"], [rowHeading("Cost", session), (node) => amount(node.cost, session.symbol), { number: true }]], lane.nodes.slice(-LISTED).reverse(), { caption: "Charges of this lane" }),
  lane.nodes.length > LISTED ? h("p", { class: "hint" }, `The latest ${LISTED}.`) : null);
