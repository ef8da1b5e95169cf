// Ask: a question by pointing and as SQL, its price while it changes, and one button that pays.

import * as api from "./api.js";
import { builder } from "./builder.js";
import { drawn, picture } from "./charts.js";
import { amount, field, h, notice, num, plusMinus, rested, s, say } from "./dom.js";
import { editor } from "./editor.js";
import * as route from "./route.js";
import { nearest, questionOf, sqlOf, wordAt } from "./sqltext.js";
import { both, forPerson, forRow, inEpsilon, times } from "./whose.js";

const PLAIN = { items: [{ kind: "count", attribute: null }], groups: [], where: {} };
/** How the error falls as the cost grows: with the cost itself, or with its root. */
const POWER = { epsilon: 1, mu: 1, rho: 0.5 };

/** A number of few figures that is not above the given one. */
export function roundDown(value) {
  if (!(value > 0)) return "0";
  const unit = 10 ** (Math.floor(Math.log10(value)) - 2);
  return String(Number((Math.floor(value / unit + 1e-9) * unit).toPrecision(3)));
}

/** One, two or five of a power of ten, and not below the given number. */
function roundUp(value) {
  const unit = 10 ** Math.floor(Math.log10(value));
  return unit * [1, 2, 5, 10].find((one) => one * unit >= value * 0.999);
}

/** What the errors of a quote are in. Where everyone has one row, rows are people. */
export const unitOf = (session, { statement }) => (statement.kind === "count" && !statement.items ? countedOf(session) : statement.attribute ?? "");
const countedOf = (session) => (session.rows_per_person === 1 ? "people" : "rows");

/** An expected error with its unit. */
export const errorText = (error, unit) => `${plusMinus(error)}${unit ? ` ${unit}` : ""}`;

export async function render({ session, domain, parameters, signal }) {
  const { symbol, parameter, table } = session;
  const balance = await api.get("/v1/budget", {}, { signal });
  const mine = balance.analysts?.[session.name];
  const start = parameters.sql ?? sqlOf(domain, table, PLAIN);
  const usual = roundDown(session.row_budget / 10);
  let cost = parameters[parameter] ?? usual;
  let chosen = parameter in parameters;
  let quoted = null;
  let running = null;
  let pointed = false;

  const price = h("section", { class: "card price", "aria-label": "Price" });
  const problem = h("div", { class: "problem", "aria-live": "polite" });
  const pointing = h("p", { class: "hint", "aria-live": "polite" });
  const text = editor({ domain, table, value: start, changed: () => { pointed = false; noted(); quoteSoon(); } });
  const points = builder({
    domain,
    question: structuredClone(PLAIN),
    changed: (question) => { pointed = true; text.value = sqlOf(domain, table, question); problem.replaceChildren(); noted(); quoteSoon(); },
  });

  const noted = () => route.note("ask", { sql: text.value, [parameter]: cost });

  const tag = priceTag({ session, balance, mine, cost, changed: (next) => { cost = next; chosen = true; noted(); tag.guess(quoted, cost); quoteSoon(); }, ask, derive, rehearse });
  price.append(tag.element);

  async function quote() {
    running?.abort();
    running = new AbortController();
    const sql = text.value;
    try {
      const found = await api.post("/console/quotes", { sql, [parameter]: cost }, { signal: running.signal });
      if (signal.aborted || sql !== text.value) return;
      // Until somebody has chosen a cost it is one that fits, if any does.
      const fitting = found.remaining > 0 && found.remaining < Number(usual) ? roundDown(found.remaining) : usual;
      if (!chosen && !found.cached && fitting !== cost) {
        cost = fitting;
        tag.set(cost);
        noted();
        return quote();
      }
      quoted = { ...found, at: Number(cost) };
      text.underline(null);
      problem.replaceChildren();
      tag.show(quoted);
      // What was pointed at stays as it is, with what has the focus.
      if (pointed) return;
      try {
        points.show(questionOf(domain, found.statement, sql, found.keys));
        pointing.textContent = "";
        points.element.inert = false;
        points.element.classList.remove("off");
      } catch (reason) {
        pointing.textContent = `${reason.message} The SQL stands; pointing cannot show it.`;
        points.element.inert = true;
        points.element.classList.add("off");
      }
    } catch (error) {
      if (error.name === "AbortError" || signal.aborted) return;
      quoted = null;
      tag.none();
      told(error, sql);
    }
  }
  const quoteSoon = rested(160, quote);

  function told(error, sql) {
    if (error.kind !== "sql") {
      problem.replaceChildren(notice("bad", error.message));
      return;
    }
    const place = wordAt(sql, error.line, error.column);
    const near = nearest(domain, table, sql, place, error.message);
    text.underline(near ? near.word : place);
    const instead = near?.offered.map((word) => h("button", { type: "button", class: "quiet", onclick: () => text.replace(near.word.start, near.word.end, word) }, word));
    problem.replaceChildren(notice("bad", h("p", {}, error.message), instead?.length ? h("p", { class: "row" }, "Replace it by ", instead) : null));
  }

  async function ask() {
    const sql = text.value;
    tag.busy(true);
    try {
      const answer = await api.ask({ sql, [parameter]: cost });
      say("Answered");
      const where = { sql, [parameter]: cost };
      route.handOver(where, answer);
      route.go("answer", where);
    } catch (error) {
      if (error.kind === "refused") {
        route.handOver({ sql, [parameter]: cost }, error);
        route.go("refused", { sql, [parameter]: cost });
      } else told(error, sql);
    } finally {
      tag.busy(false);
    }
  }

  async function derive() {
    const sql = text.value;
    try {
      const answer = await api.post("/v1/answers", { sql, derive: true });
      const where = { sql, [parameter]: cost, derived: 1 };
      route.handOver(where, answer);
      route.go("answer", where);
    } catch (error) {
      told(error, sql);
    }
  }

  async function rehearse() {
    const sql = text.value;
    try {
      const answer = await api.post("/console/rehearsals", { sql, [parameter]: cost });
      const where = { sql, [parameter]: cost, rehearsed: 1 };
      route.handOver(where, answer);
      route.go("answer", where);
    } catch (error) {
      told(error, sql);
    }
  }

  quote();
  return [
    h("h1", {}, "Ask"),
    balance.charges === 0 ? notice("", "Nothing was asked of this table yet. Choose what to count on the left or write SQL on the right; the price below is live, and looking at it costs nothing.") : null,
    h("div", { class: "columns" },
      h("section", { class: "card", "aria-labelledby": "by-pointing" }, h("h2", { id: "by-pointing" }, "By pointing"), pointing, points.element),
      h("section", { class: "card", "aria-label": "SQL" }, h("h2", {}, h("label", { for: text.area.id }, "As SQL")), text.element, problem, h("p", { class: "hint" }, "Words of the domain are completed as you type; Tab takes one. ", h("a", { href: route.address("domain") }, "See the domain")))),
    price,
  ];
}

function priceTag({ session, balance, mine, cost, changed, ask, derive, rehearse }) {
  const { symbol, parameter } = session;
  const counted = countedOf(session);
  const [least, most] = [session.row_budget / 1000, session.row_budget];
  const log = (value) => (Math.log(Math.min(Math.max(value, least), most) / least) / Math.log(most / least)) * 1000;
  const slider = h("input", { type: "range", min: 0, max: 1000, step: 1, value: log(Number(cost)), "aria-label": `Cost in ${symbol}${forRow(session)}` });
  const entry = h("input", { type: "text", inputmode: "decimal", value: cost, class: "figure", maxlength: 30 });
  const marks = h("div", { class: "marks", "aria-hidden": "true" });
  const error = h("p", { class: "big" }, "…");
  const errorNote = h("p", { class: "hint" });
  const bar = h("div", {});
  const costs = h("p", {});
  const adds = h("p", {});
  const left = h("p", { class: "muted" });
  const verdict = h("div", { class: "verdict", "aria-live": "polite" });
  const button = h("button", { type: "button", class: "primary", onclick: ask, disabled: true }, `Ask for ${symbol} ${cost}`);
  const following = h("button", { type: "button", onclick: derive, hidden: true, title: "Worked out from answers that you have, for nothing" }, "Derive it, free");
  const follows = h("p", { class: "follows", hidden: true });
  const best = h("button", { type: "button", class: "quiet" }, "Best still affordable");
  const rehearsal = h("button", { type: "button", onclick: rehearse, disabled: true, title: "Answers from random rows of the domain, free, without the data" }, "Rehearse, free");
  let width = 0;
  let remaining = null;

  slider.addEventListener("input", () => {
    const value = least * (most / least) ** (Number(slider.value) / 1000);
    entry.value = Number(slider.value) === 1000 ? roundDown(most) : String(Number(value.toPrecision(2)));
    changed(entry.value);
  });
  entry.addEventListener("input", () => {
    if (!(Number(entry.value) > 0)) return;
    slider.value = log(Number(entry.value));
    changed(entry.value);
  });
  best.addEventListener("click", () => {
    entry.value = roundDown(remaining);
    slider.value = log(Number(entry.value));
    changed(entry.value);
  });

  function ruler(size) {
    // The ruler keeps its length while the error stays readable on it, so that the bar is seen to grow and shrink.
    if (!(width / size > 1.3 && width / size < 14)) width = size * 4;
    const high = roundUp(width);
    return drawn((room) => {
      const x = (at) => room / 2 + (at / high) * (room / 2 - 24);
      const end = Math.min(size, high * 1.08);
      return picture(
        room, 52, `Expected error of plus or minus ${num(size)}, beside a ruler from minus ${num(high)} to ${num(high)}`,
        s("line", { x1: x(-high), x2: x(high), y1: 30, y2: 30, class: "axis" }),
        [-high, 0, high].map((at) => [s("line", { x1: x(at), x2: x(at), y1: 26, y2: 34, class: "axis" }), s("text", { x: x(at), y: 48, class: "tick middle" }, `${at > 0 ? "+" : ""}${num(at)}`)]),
        s("rect", { x: x(-end), y: 8, width: x(end) - x(-end), height: 12, rx: 3, class: "band" }),
        s("line", { x1: x(-end), x2: x(end), y1: 14, y2: 14, class: "whisker" }),
        [-end, end].map((at) => s("line", { x1: x(at), x2: x(at), y1: 6, y2: 22, class: "whisker" })),
        s("circle", { cx: x(0), cy: 14, r: 4, class: "point" }),
      );
    });
  }

  function accuracy(expected, unit) {
    error.textContent = errorText(expected, unit);
    bar.replaceChildren(...(expected > 0 ? [ruler(expected)] : []));
  }

  /** The error of each number, all of them times a factor; where it depends on the rows, that over some numbers of rows. */
  function errors(quote, factor = 1) {
    const size = (one) => plusMinus(one * factor);
    const over = (told) => Object.entries(told).sort((one, other) => other[0] - one[0]).map(([rows, one]) => `${size(one)} over ${num(Number(rows))} ${counted}`);
    const named = Object.entries(quote.expected_errors ?? {});
    if (named.length > 1) {
      error.textContent = "";
      bar.replaceChildren(h("dl", { class: "errors" }, named.map(([column, one]) => [h("dt", {}, column), h("dd", {}, one !== null ? size(one) : over(quote.errors_by_rows?.[column] ?? {}).join(", ") || "with the answer")])));
      errorNote.textContent = "";
    } else if (quote.expected_error !== null) {
      accuracy(quote.expected_error * factor, unitOf(session, quote));
      errorNote.textContent = quote.best_error !== null && !quote.cached ? `At best ${errorText(quote.best_error, unitOf(session, quote))}, with all that is left here.` : "";
    } else {
      const [most, ...fewer] = over(quote.error_by_rows ?? {});
      error.textContent = most ?? "with the answer";
      errorNote.textContent = most ? fewer.join(", ") : "No error is known before it is worked out from other numbers; the answer has its 95 % interval.";
      bar.replaceChildren();
    }
  }

  function show(quote) {
    remaining = quote.remaining;
    errors(quote);
    const free = quote.cached || !quote.limit;
    const whole = [`${amount(quote.cost, symbol)}${forRow(session)}${inEpsilon(quote.epsilon?.cost, quote.delta, forPerson(session))}`, times(session)].filter(Boolean).join(", ");
    costs.textContent = !free && (forRow(session) || quote.epsilon) ? `Costs ${whole}.` : "";
    adds.replaceChildren(...(quote.cached ? [h("strong", {}, "Free"), ": this was bought before."] : quote.adds === 0 ? [h("strong", {}, `Adds ${symbol} 0`), balance.charges ? ": no row pays for this and for what already cost most." : "."] : [h("strong", {}, `Adds ${amount(quote.adds, symbol)}`), `${forPerson(session)} to what was spent on the dataset.`]));
    const derivable = Boolean(quote.derivable) && quote.limit !== "";
    follows.hidden = following.hidden = !derivable;
    follows.replaceChildren(...(derivable ? [h("strong", {}, "Free"), `: follows from what was bought, ${errorText(quote.derived_error, unitOf(session, quote))}.`] : []));
    const limits = Object.entries(quote.left ?? {}).map(([limit, value]) => `${limit === "budget" ? "the budget" : limit === `quota of ${session.name}` ? "your quota" : limit} leaves ${amount(value, symbol)}${forRow(session)}`);
    left.textContent = limits.length ? `On these rows ${limits.join(", ")}.${quote.epsilon ? ` At most ${amount(quote.remaining, symbol)}${inEpsilon(quote.epsilon.remaining, quote.delta, forPerson(session))} can be asked for.` : ""}` : "";
    verdict.replaceChildren(quote.fits ? "" : notice("warn", `Too dear here: at most ${amount(quote.remaining, symbol)}${forRow(session)}${inEpsilon(quote.epsilon?.remaining, quote.delta, forPerson(session))} can be asked for.`));
    marks.replaceChildren();
    if (quote.remaining < most) {
      const mark = h("span", { class: "mark" }, h("span", {}, `affordable ${num(quote.remaining)}`));
      mark.style.left = `${log(quote.remaining) / 10}%`;
      mark.classList.toggle("late", log(quote.remaining) > 700);
      marks.append(mark);
    }
    best.disabled = !(quote.remaining > 0);
    button.textContent = quote.cached ? "Show the answer, free" : `Ask for ${symbol} ${entry.value}`;
    button.disabled = false;
    rehearsal.disabled = false;
  }

  return {
    element: [
      h("h2", { class: "unseen" }, "Price"),
      h("div", { class: "price-grid" },
        h("div", {},
          h("div", { class: "row" }, field(`Cost in ${symbol}${forRow(session)}`, entry), best),
          h("div", { class: "slider" }, slider, marks),
          h("div", { class: "row between hint" }, h("span", {}, `less accurate · ${symbol} ${num(least)}`), h("span", {}, `${symbol} ${num(most)} · more accurate`))),
        h("div", {}, h("h3", {}, "Expected error"), error, bar, errorNote),
        h("div", {}, h("h3", {}, "What it takes"), costs, adds, follows, left, mine ? h("p", { class: "muted" }, mine.quota === null ? `You have spent ${both(mine, "spent", symbol, balance.delta)}${forPerson(session)}; only the budget bounds you.` : `Your quota: ${both(mine, "spent", symbol, balance.delta)} spent of ${both(mine, "quota", symbol, balance.delta)}${forPerson(session)}.`) : null)),
      verdict,
      h("div", { class: "row actions" }, button, following, rehearsal),
    ].reduce((box, part) => (box.append(part), box), h("div", {})),
    show,
    /** While the server is asked: the error scales with the cost by a known law. */
    guess(quote, now) {
      button.textContent = `Ask for ${symbol} ${now}`;
      if (quote && !quote.cached && Number(now) > 0) errors(quote, (quote.at / Number(now)) ** POWER[parameter]);
    },
    /** Set the cost without telling that somebody chose it. */
    set(now) {
      entry.value = now;
      slider.value = log(Number(now));
    },
    none() {
      error.textContent = "–";
      errorNote.textContent = "The price is shown as soon as the question can be read.";
      bar.replaceChildren();
      for (const part of [costs, adds, left, verdict, marks]) part.replaceChildren();
      button.disabled = true;
      rehearsal.disabled = true;
      follows.hidden = following.hidden = true;
    },
    busy(on) {
      button.disabled = on;
      if (on) button.textContent = "Asking…";
    },
  };
}
