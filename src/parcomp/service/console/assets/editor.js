// A text area for SQL: words in color, the place of an error underlined, and completion from the domain.

import { h, newId, say } from "./dom.js";
import { completions } from "./sqltext.js";

const WORDS = /('(?:''|[^'])*'?)|("(?:""|[^"])*"?)|\b(select|from|where|group|by|and|or|not|in|between|is|null|count|sum|avg|as|true|false|order|limit|having|case|when|then|else|end|floor|date|median|stddev|variance|distinct|desc|asc)\b|(\d[\d.]*)/gi;

export function editor({ domain, table, value, changed }) {
  const id = newId("sql");
  const list = h("ul", { id: `${id}-list`, class: "completions", role: "listbox", "aria-label": "Completions", hidden: true });
  const paint = h("pre", { class: "paint", "aria-hidden": "true" });
  const area = h("textarea", { id, rows: 4, spellcheck: "false", autocapitalize: "off", autocomplete: "off", "aria-autocomplete": "list", "aria-controls": list.id, value });
  let fault = null;
  let offered = { start: 0, words: [] };
  let active = -1;

  function colored(text, start) {
    const parts = [];
    let last = 0;
    const add = (piece, klass, at) => {
      // A piece may lie across an end of the fault: it is cut there.
      const [from, to] = fault ? [Math.max(fault.start - at, 0), Math.min(fault.end - at, piece.length)] : [0, 0];
      if (!fault || from >= to) parts.push(klass ? h("span", { class: klass }, piece) : piece);
      else parts.push(h("span", { class: klass }, piece.slice(0, from), h("span", { class: "fault" }, piece.slice(from, to)), piece.slice(to)));
    };
    for (const found of text.matchAll(WORDS)) {
      if (found.index > last) add(text.slice(last, found.index), "", start + last);
      add(found[0], found[1] ? "string" : found[3] ? "word" : found[4] ? "figure" : "", start + found.index);
      last = found.index + found[0].length;
    }
    if (last < text.length) add(text.slice(last), "", start + last);
    return parts;
  }

  function painted() {
    paint.replaceChildren(...colored(area.value, 0), "\n");
    if (fault && fault.start >= area.value.length) paint.append(h("span", { class: "fault" }, " "));
    area.style.height = "auto";
    area.style.height = `${Math.max(area.scrollHeight, 92)}px`;
    paint.scrollTop = area.scrollTop;
  }

  function close() {
    list.hidden = true;
    active = -1;
    area.removeAttribute("aria-activedescendant");
  }

  function offer() {
    offered = area.selectionStart === area.selectionEnd ? completions(domain, table, area.value, area.selectionStart) : { start: 0, words: [] };
    if (!offered.words.length) return close();
    active = -1;
    list.replaceChildren(...offered.words.map((word, place) => h("li", { id: `${list.id}-${place}`, role: "option", "aria-selected": "false", onpointerdown: (event) => { event.preventDefault(); take(place); } }, word)));
    list.hidden = false;
    say(`${offered.words.length} completions: ${offered.words.join(", ")}`);
  }

  function point(place) {
    active = (place + offered.words.length) % offered.words.length;
    [...list.children].forEach((one, at) => one.setAttribute("aria-selected", String(at === active)));
    area.setAttribute("aria-activedescendant", `${list.id}-${active}`);
  }

  function take(place) {
    const word = offered.words[place];
    const cursor = area.selectionStart;
    const rest = area.value.slice(cursor).replace(/^'(?=\s|$|\)|,)/, word.startsWith("'") ? "" : "'");
    area.value = area.value.slice(0, offered.start) + word + rest;
    area.setSelectionRange(offered.start + word.length, offered.start + word.length);
    close();
    input();
    close();
  }

  function input() {
    fault = null;
    painted();
    changed(area.value);
  }

  area.addEventListener("input", () => { input(); offer(); });
  area.addEventListener("scroll", () => (paint.scrollTop = area.scrollTop));
  area.addEventListener("blur", () => setTimeout(close, 100));
  area.addEventListener("keydown", (event) => {
    if (list.hidden) {
      if (event.key === " " && event.ctrlKey) { event.preventDefault(); offer(); }
      return;
    }
    if (event.key === "ArrowDown" || event.key === "ArrowUp") point(active + (event.key === "ArrowDown" ? 1 : active < 0 ? 0 : -1));
    else if (event.key === "Enter" && active >= 0) take(active);
    else if (event.key === "Tab" && !event.shiftKey) take(Math.max(active, 0));
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
  });
  addEventListener("resize", painted);
  requestAnimationFrame(painted);

  return {
    element: h("div", { class: "editor" }, paint, area, list),
    area,
    get value() { return area.value; },
    set value(sql) { area.value = sql; fault = null; painted(); },
    underline(place) { fault = place; area.setAttribute("aria-invalid", place ? "true" : "false"); painted(); },
    replace(start, end, word) { area.value = area.value.slice(0, start) + word + area.value.slice(end); area.focus(); input(); },
  };
}
