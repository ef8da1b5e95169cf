// The frame around the pages: who is signed in, where one can go, and what is shown there.

import { busy, call, dropToken, get, hasToken, keepToken, post } from "./api.js";
import { settle } from "./charts.js";
import { field, h, notice, say } from "./dom.js";
import * as route from "./route.js";

const PAGES = {
  ask: ["Ask", "./ask.js", "asks"],
  answers: ["My answers", "./answers.js", "asks"],
  domain: ["Domain", "./domain.js", "all"],
  overview: ["Overview", "./overview.js", "tends"],
  map: ["Map", "./map.js", "tends"],
  graph: ["Graph", "./graph.js", "all"],
  charges: ["Charges", "./charges.js", "all"],
  analysts: ["Analysts", "./analysts.js", "tends"],
  ledger: ["Ledger", "./ledger.js", "tends"],
  answer: ["Answer", "./answer.js", "asks", "ask"],
  refused: ["Refused", "./refused.js", "asks", "ask"],
  charge: ["Charge", "./charge.js", "all", "charges"],
};

const top = document.getElementById("top");
const main = document.getElementById("main");
let session = null;
let domain = null;
let shown = 0;
let leave = null;

const may = (who) => who === "all" || (who === "asks" ? session.asks : session.role === "custodian");
const first = () => (session.role === "custodian" ? "overview" : session.asks ? "ask" : "domain");

function frame(current) {
  const here = PAGES[current]?.[3] ?? current;
  const order = session.role === "custodian" ? ["overview", "map", "graph", "charges", "analysts", "ledger", "ask", "answers", "domain"] : ["ask", "answers", "domain", "graph"];
  const links = order
    .filter((page) => may(PAGES[page][2]))
    .map((page) => h("a", { href: route.address(page), "aria-current": page === here ? "page" : null }, PAGES[page][0]));
  top.replaceChildren(
    h("button", { type: "button", class: "skip", onclick: () => main.focus() }, "Skip to content"),
    h("a", { class: "brand", href: route.address(first()) }, h("img", { src: "/console/assets/icon.svg", alt: "", width: 22, height: 22 }), h("span", {}, "Parcomp"), h("span", { class: "dataset" }, session.dataset)),
    h("nav", { "aria-label": "Pages" }, links),
    h("div", { class: "who" }, h("span", { title: `Signed in as ${session.name}, ${session.role}` }, session.name, h("span", { class: "role" }, session.role)), h("button", { type: "button", class: "quiet", onclick: signOut }, "Sign out")),
  );
  // On a phone the pages are a strip to push: the current one is brought into view.
  const strip = top.querySelector("nav");
  const mark = strip.querySelector("[aria-current]");
  if (mark) strip.scrollLeft = mark.offsetLeft - strip.offsetLeft - 24;
}

async function signOut() {
  try {
    await call("DELETE", "/console/session");
  } catch {
    // Without the token the cookie is nothing, whether or not the server was told.
  }
  dropToken();
  session = domain = null;
  history.replaceState(null, "", "/");
  signIn("You are signed out.");
}

function signIn(message = "", problem = "") {
  leave?.();
  leave = null;
  shown += 1;
  document.title = "Sign in · Parcomp";
  main.removeAttribute("aria-busy");
  top.replaceChildren();
  const key = h("input", { type: "password", name: "key", required: true, autocomplete: "current-password", spellcheck: "false", maxlength: 200 });
  const button = h("button", { type: "submit", class: "primary" }, "Sign in");
  const said = h("div", {}, problem ? notice("bad", problem) : message ? notice("", message) : null);
  const form = h(
    "form",
    {
      class: "card signin",
      onsubmit: async (event) => {
        event.preventDefault();
        button.disabled = true;
        try {
          const found = await post("/console/session", { key: key.value.trim() });
          keepToken(found.token);
          session = found;
          main.replaceChildren(h("p", { class: "muted" }, "Opening…"));
          await show();
        } catch (error) {
          said.replaceChildren(notice("bad", error.kind === "unauthorized" ? "This key is not known, or it was revoked." : error.kind === "body" ? "That is not a key. A key begins with pc_ and has no blanks." : error.message));
          key.select();
          key.focus();
        } finally {
          button.disabled = false;
        }
      },
    },
    h("img", { src: "/console/assets/icon.svg", alt: "", width: 40, height: 40 }),
    h("h1", {}, "Parcomp"),
    h("p", { class: "muted" }, "Answers about people, with a price in privacy that is known before you ask."),
    said,
    field("Key", key, "It begins with pc_. Whoever keeps the data makes one with: parcomp keys add NAME"),
    button,
  );
  main.replaceChildren(h("div", { class: "center" }, form));
  key.focus();
}

async function show() {
  const turn = (shown += 1);
  leave?.();
  leave = null;
  main.removeAttribute("aria-busy");
  if (!hasToken()) return signIn();
  try {
    session ??= await get("/console/session");
    domain ??= await get("/v1/domain");
  } catch (error) {
    if (error.status !== 401) return failed(error);
    dropToken();
    return signIn("Sign in to go on.");
  }
  if (turn !== shown) return;
  let { page, parameters } = route.read();
  if (!page) {
    page = first();
    route.note(page, parameters);
  }
  frame(page);
  const known = PAGES[page];
  document.title = `${known?.[0] ?? "Not found"} · ${session.dataset} · Parcomp`;
  if (!known || !may(known[2])) {
    main.replaceChildren(h("h1", {}, known ? "Not for this key" : "There is no such page"), h("p", {}, known ? `${known[0]} is for ${known[2] === "asks" ? "analysts" : "custodians"}. Sign in with such a key to see it.` : "The address may be mistyped."), h("p", {}, h("a", { href: route.address(first()) }, "Go to the first page")));
    return;
  }
  const stopped = new AbortController();
  leave = () => stopped.abort();
  main.setAttribute("aria-busy", "true");
  try {
    const render = await rendered(known[1]);
    const content = await render({ session, domain, parameters, signal: stopped.signal, reload: show });
    if (turn !== shown) return;
    main.replaceChildren(...[content].flat(Infinity).filter(Boolean));
    settle();
    scrollTo(0, 0);
    if (document.activeElement === document.body || !document.contains(document.activeElement)) main.focus({ preventScroll: true });
    say(known[0]);
  } catch (error) {
    if (turn === shown && error.name !== "AbortError" && error.status !== 401) failed(error);
  } finally {
    // A page that was left while it loaded says nothing of the one that is loading.
    if (turn === shown) main.removeAttribute("aria-busy");
  }
}

/** What renders a page; its module comes from the server, and is waited for like a request. */
async function rendered(module) {
  busy(1);
  try {
    return (await import(module)).render;
  } finally {
    busy(-1);
  }
}

function failed(error) {
  main.replaceChildren(h("h1", {}, "That did not work"), notice("bad", error.message), h("p", {}, h("button", { type: "button", onclick: show }, "Try again")));
}

// On paper nothing can be opened: tables behind charts are printed with them.
addEventListener("beforeprint", () => document.querySelectorAll("details.behind:not([open]):has(table)").forEach((one) => { one.open = true; one.dataset.printed = ""; }));
addEventListener("afterprint", () => document.querySelectorAll("details[data-printed]").forEach((one) => { one.open = false; delete one.dataset.printed; }));
addEventListener("hashchange", show);
addEventListener("signed-out", () => {
  session = domain = null;
  signIn("", "Your session has ended, or the key was revoked. Sign in again.");
});
show();
