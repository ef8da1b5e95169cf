// Elements, numbers and times: what every page is made of. Text is always set as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled" || name === "indeterminate") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

let ids = 0;
export const newId = (prefix = "id") => `${prefix}-${++ids}`;

/** Tell whoever listens rather than looks. */
export function say(text) {
  document.getElementById("said").textContent = text;
}

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** A number as people read it: whole with separators where it is large, else four figures. */
export function num(value) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (Number.isInteger(value)) return whole.format(value).replace("-", "−");
  if (Math.abs(value) >= 1000) return whole.format(value).replace("-", "−");
  const shown = Math.abs(value) < 1e-4 ? value.toExponential(2) : String(Number(value.toPrecision(4)));
  return shown.replace("-", "−");
}

/** An amount with its unit: ε 0.1. */
export const amount = (value, symbol) => (value === null || value === undefined ? "–" : `${symbol}\u00a0${num(value)}`);

/** An expected error, which is what ± means on every page. */
export const plusMinus = (error) => `±\u00a0${num(Number(error.toPrecision(error >= 100 ? 3 : 2)))}`;

const clock = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
export const dayOf = (iso) => day.format(new Date(iso));

/** A time in the reader's zone, exact on hover. */
export function time(iso) {
  if (!iso) return h("span", {}, "–");
  return h("time", { datetime: iso, title: iso }, clock.format(new Date(iso)));
}

export const plural = (count, one, many = `${one}s`) => `${num(count)} ${count === 1 ? one : many}`;

/** A labeled control. */
export function field(label, control, hint) {
  const id = control.id || (control.id = newId("field"));
  const said = hint && h("span", { class: "hint", id: `${id}-hint` }, hint);
  if (said) control.setAttribute("aria-describedby", said.id);
  return h("div", { class: "field" }, h("label", { for: id }, label), control, said);
}

/** Options of a select, the chosen one selected. */
export function select(options, chosen, attributes) {
  const made = options.map((one) => {
    const [value, label] = Array.isArray(one) ? one : [one, one];
    return h("option", { value, selected: value === chosen }, label);
  });
  return h("select", attributes, made);
}

export const notice = (kind, ...children) => h("div", { class: `notice ${kind}`, role: kind === "bad" ? "alert" : null }, ...children);

/** A table; columns are [heading, cell of a row, {number, klass}]. On a phone rows of several columns become blocks. */
export function table(columns, rows, { caption, stacked = columns.length > 3 } = {}) {
  const klass = (more) => (more?.number ? "number" : more?.klass ?? null);
  return h(
    "div",
    { class: stacked ? "scroll stacked" : "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h(
      "table",
      {},
      h("caption", { class: "unseen" }, caption),
      h("thead", {}, h("tr", {}, columns.map(([heading, , more]) => h("th", { scope: "col", class: klass(more) }, heading)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, columns.map(([heading, cell, more]) => h("td", { class: klass(more), "data-label": typeof heading === "string" ? heading : heading.textContent.replace(/ [↑↓]$/, "") }, cell(row)))))),
    ),
  );
}

export const behind = (label, content) => h("details", { class: "behind" }, h("summary", {}, label), content);

export const sqlText = (sql) => h("code", { class: "sql" }, sql);

const LONGEST = 240;

/** SQL in a list: of a long one the beginning, since a statement may name thousands of values. Its own page has all. */
export const briefSql = (sql) => (sql.length <= LONGEST ? sqlText(sql) : h("code", { class: "sql" }, `${sql.slice(0, LONGEST)}… `, h("span", { class: "muted" }, `(${num(sql.length)} characters)`)));

/** SQL as what a page is about, all of it; a long one is scrolled. */
export const question = (sql) => h("div", { class: "question", tabindex: sql.length > LONGEST ? 0 : null, role: sql.length > LONGEST ? "region" : null, "aria-label": sql.length > LONGEST ? "The question" : null }, sqlText(sql));

/** What to do first, on a page that has nothing to show yet. */
export const empty = (title, text, ...actions) => h("div", { class: "empty" }, h("h2", {}, title), h("p", {}, text), actions.length ? h("p", {}, ...actions) : null);

export function download(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

const quoted = (value) => {
  const text = value === null || value === undefined ? "" : String(value);
  // A cell that a spreadsheet would take for a formula is kept a text.
  const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};
export const csv = (headings, rows) => [headings, ...rows].map((row) => row.map(quoted).join(",")).join("\r\n") + "\r\n";

export function copyButton(label, text) {
  const button = h("button", { type: "button", class: "quiet" }, label);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = "Copied";
      say("Copied");
    } catch {
      button.textContent = "Select the text and copy it";
    }
    setTimeout(() => (button.textContent = label), 1600);
  });
  return button;
}

/** Call no more often than after so many milliseconds of rest. */
export function rested(milliseconds, call) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...given), milliseconds);
  };
}
