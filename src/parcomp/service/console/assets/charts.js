// Charts as SVG: bars and points with their intervals, heat maps, a gauge and lines. Colors are classes of the style sheet.

import { h, num, s, say } from "./dom.js";

const waiting = new Map();

/** Draw the charts that have got their place, before anything is seen without them: what is below would jump. */
export function settle() {
  for (const [box, fit] of waiting) if (box.isConnected) { waiting.delete(box); fit(box.clientWidth); }
}

/** Draw for the width there is, and again when it changes. */
export function drawn(draw) {
  const box = h("div", { class: "chart" });
  let width = 0;
  const fit = (found) => {
    if (found > 0 && found !== width) {
      width = found;
      box.replaceChildren(draw(width));
    }
  };
  waiting.set(box, fit);
  queueMicrotask(settle);
  new ResizeObserver((entries) => { waiting.delete(box); fit(Math.floor(entries[0].contentRect.width)); }).observe(box);
  return box;
}

export const picture = (width, height, label, ...content) => s("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label }, ...content);

/** Round numbers from low to high, about so many. */
export function ticks(low, high, about = 5) {
  const rough = (high - low) / about || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough * 0.999);
  const found = [];
  for (let place = Math.ceil(low / step - 1e-9); place * step <= high + step * 1e-9; place += 1) found.push(Number((place * step).toPrecision(12)));
  return found;
}

const text = (x, y, klass, content, more) => s("text", { x, y, class: klass, ...more }, content);
const line = (x1, y1, x2, y2, klass) => s("line", { x1, y1, x2, y2, class: klass });
const clip = (label, room) => (label.length <= room ? label : `${label.slice(0, Math.max(room - 1, 1))}…`);

/** One number with its interval, on an axis that shows how wide it is. */
export function interval({ value, low, high, unit }) {
  return drawn((width) => {
    const room = Math.max((high - low) * 1.2, Math.abs(value) * 1e-6, 1e-9);
    const [from, to] = [low - room * 0.5, high + room * 0.5];
    const x = (at) => 16 + ((at - from) / (to - from)) * (width - 32);
    const axis = ticks(from, to, Math.max(Math.floor(width / 130), 3));
    return picture(
      width, 74, `${num(value)}, 95 % interval from ${num(low)} to ${num(high)}`,
      line(16, 50, width - 16, 50, "axis"),
      axis.map((at) => [line(x(at), 50, x(at), 55, "axis"), text(x(at), 69, "tick middle", num(at))]),
      s("rect", { x: x(low), y: 18, width: x(high) - x(low), height: 16, rx: 3, class: "band" }),
      line(x(low), 14, x(low), 38, "whisker"), line(x(high), 14, x(high), 38, "whisker"), line(x(low), 26, x(high), 26, "whisker"),
      s("circle", { cx: x(value), cy: 26, r: 6, class: "point" }, s("title", {}, `${num(value)} ${unit ?? ""}`)),
    );
  });
}

/** Groups as bars with whiskers; rows are {label, value, low, high}. */
export function bars(rows, { label, most = 60 } = {}) {
  const shown = rows.slice(0, most).filter((row) => row.value !== null);
  return drawn((width) => {
    const names = Math.min(Math.max(...shown.map((row) => row.label.length)) * 7.2 + 10, width * 0.36);
    const ends = shown.flatMap((row) => [row.value, row.low ?? row.value, row.high ?? row.value]);
    const [from, to] = [Math.min(0, ...ends), Math.max(0, ...ends) || 1];
    const numbers = width < 480 ? 62 : 84;
    const x = (at) => names + ((at - from) / (to - from)) * (width - names - numbers - 6);
    const height = shown.length * 26 + 26;
    const axis = ticks(from, to, Math.max(Math.floor((width - names - numbers) / 90), 2));
    return picture(
      width, height, `${label}: ${shown.length} groups; the table below has the numbers`,
      axis.map((at) => [line(x(at), 0, x(at), height - 22, "grid"), text(x(at), height - 6, "tick middle", num(at))]),
      line(x(0), 0, x(0), height - 22, "axis"),
      shown.map((row, place) => {
        const y = place * 26 + 3;
        const left = Math.min(x(0), x(row.value));
        const whisker = row.low === null || row.low === undefined ? [] : [line(x(row.low), y + 10, x(row.high), y + 10, "whisker"), line(x(row.low), y + 5, x(row.low), y + 15, "whisker"), line(x(row.high), y + 5, x(row.high), y + 15, "whisker")];
        return s(
          "g", {},
          s("title", {}, `${row.label}: ${num(row.value)}, 95 % interval ${num(row.low)} to ${num(row.high)}`),
          text(names - 8, y + 14, "label end", clip(row.label, Math.floor((names - 10) / 7))),
          s("rect", { x: left, y, width: Math.max(Math.abs(x(row.value) - x(0)), 1), height: 20, class: "bar" }),
          whisker,
          text(width - 2, y + 14, "label end figure", num(row.value)),
        );
      }),
    );
  });
}

/** A step of the scale of shades: 0 … 9, or 10 where the limit is reached. */
export const shade = (value, top) => (top > 0 && value >= top * (1 - 1e-9) ? 10 : value <= 0 ? 0 : Math.min(Math.floor((value / top) * 9) + 1, 9));

/** A heat map; cells[i][j] belongs to xs[i] and ys[j]. `pick` is told a rectangle of cells that was chosen. */
export function heat({ xs, ys, xName, yName, cells, top, tell, pick, chosen, plain = false, label }) {
  // What is pointed at is told below at once: a browser's own note comes late, and never by touch.
  const told = h("p", { class: "hint told", "aria-hidden": "true" }, pick ? "Point at a cell, or draw over several." : "Point at a cell.");
  const map = drawn((width) => {
    const longest = Math.max(yName.length, ...ys.map((one) => one.length));
    const left = Math.min(longest * 7 + 12, width * 0.3);
    const cell = Math.max((width - left - 2) / xs.length, 3);
    const row = Math.min(Math.max(cell * 0.6, 20), ys.length > 30 ? 14 : 34);
    const foot = 44;
    const height = ys.length * row + foot + 18;
    const every = Math.ceil((Math.max(...xs.map((one) => one.length)) * 6.6 + 14) / cell);
    const everyRow = Math.ceil(15 / row);
    const rects = new Map();
    let start = null;
    let at = chosen ? [chosen[0], chosen[1]] : [0, 0];
    const box = (one, other) => [Math.min(one[0], other[0]), Math.min(one[1], other[1]), Math.max(one[0], other[0]), Math.max(one[1], other[1])];
    const mark = (range) => rects.forEach((rect, key) => {
      const [i, j] = key.split(",").map(Number);
      rect.classList.toggle("chosen", Boolean(range) && i >= range[0] && i <= range[2] && j >= range[1] && j <= range[3]);
    });
    const place = (event) => event.target.dataset?.cell?.split(",").map(Number);
    const point = (cell) => { if (cell) told.textContent = tell(...cell); };
    for (let i = 0; i < xs.length; i += 1) {
      for (let j = 0; j < ys.length; j += 1) {
        const value = cells[i][j];
        rects.set(`${i},${j}`, s("rect", {
          x: left + i * cell, y: 18 + (ys.length - 1 - j) * row, width: Math.max(cell - 1, 1), height: row - 1, "data-cell": `${i},${j}`,
          class: value === null ? "cell none" : `cell shade-${plain ? Math.min(shade(value, top), 9) : shade(value, top)}`,
        }));
      }
    }
    const drawing = s(
      "svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: pick ? "application" : "img", tabindex: pick ? 0 : null, "aria-label": label },
      text(left - 8, 11, "tick end strong", yName),
      ys.map((one, j) => (j % everyRow ? null : text(left - 8, 18 + (ys.length - 1 - j) * row + row / 2 + 4, "label end", clip(one, Math.floor((left - 10) / 6.8))))),
      [...rects.values()],
      xs.map((one, i) => (i % every || (every > 1 && left + i * cell + one.length * 6.6 > width) ? null : text(left + i * cell + (every > 1 ? 0 : cell / 2), 18 + ys.length * row + 16, `tick${every > 1 ? "" : " middle"}`, one))),
      text(left + (cell * xs.length) / 2, height - 6, "tick middle strong", xName),
    );
    drawing.addEventListener("pointerover", (event) => point(place(event)));
    if (pick) {
      drawing.addEventListener("pointerdown", (event) => {
        start = place(event) ?? null;
        // A finger keeps what it first touched, unless it is let go.
        if (event.target.hasPointerCapture?.(event.pointerId)) event.target.releasePointerCapture(event.pointerId);
        if (start) mark(box(start, start));
      });
      drawing.addEventListener("pointerover", (event) => {
        const over = place(event);
        if (start && over) mark(box(start, over));
      });
      drawing.addEventListener("pointerup", (event) => {
        const end = place(event) ?? start;
        if (start) pick(...box(start, end));
        start = null;
      });
      drawing.addEventListener("keydown", (event) => {
        const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
        if (move) {
          at = [Math.min(Math.max(at[0] + move[0], 0), xs.length - 1), Math.min(Math.max(at[1] + move[1], 0), ys.length - 1)];
          mark(box(at, at));
          point(at);
          say(tell(...at));
        } else if (event.key === "Enter" || event.key === " ") pick(...box(at, at));
        else return;
        event.preventDefault();
      });
      if (chosen) mark(chosen);
    }
    return drawing;
  });
  return h("div", {}, map, told);
}

/** The scale of a heat map: from nothing to the top, which may be a limit. */
export function scale(top, symbol, ending) {
  const steps = ending ? 11 : 10;
  return drawn((whole) => {
    const width = Math.min(whole, 420);
    const step = (width - 8) / steps;
    return picture(
      width, 38, `Shades from ${symbol} 0 to ${symbol} ${num(top)}`,
      Array.from({ length: steps }, (_, place) => s("rect", { x: place * step, y: 2, width: step - 1, height: 12, class: `cell shade-${place}` })),
      text(0, 30, "tick", "0"), text(step * 5, 30, "tick middle", num(top / 2)), text(width - 8, 30, "tick end", `${symbol} ${num(top)}${ending ? ` ${ending}` : ""}`),
    );
  });
}

/** What was spent of a budget, with the bracket of what is proven. */
export function gauge({ budget, spent, lower, sequential, symbol }) {
  return drawn((width) => {
    const x = (at) => Math.min(at / budget, 1) * width;
    return picture(
      width, 56, `${symbol} ${num(spent)} of ${symbol} ${num(budget)} spent`,
      s("rect", { x: 0, y: 12, width, height: 22, rx: 4, class: "track" }),
      s("rect", { x: 0, y: 12, width: x(lower ?? spent), height: 22, rx: 4, class: spent >= budget * 0.9 ? "spent near" : "spent" }, s("title", {}, `at least ${symbol} ${num(lower ?? spent)}`)),
      lower !== undefined && lower < spent ? s("rect", { x: x(lower), y: 12, width: x(spent) - x(lower), height: 22, class: "bracket" }, s("title", {}, `at most ${symbol} ${num(spent)}`)) : null,
      line(x(spent), 12, x(spent), 39, "needle"),
      sequential > spent ? [line(x(sequential), 12, x(sequential), 34, "ghost"), text(Math.min(x(sequential), width - 2), 9, x(sequential) > width * 0.7 ? "tick end" : x(sequential) < 40 ? "tick" : "tick middle", sequential > budget ? (width < 480 ? "one by one →" : "one by one: beyond the budget →") : "one by one")] : null,
      text(0, 52, "tick", "0"), text(width, 52, "tick end", `budget ${symbol} ${num(budget)}`),
      x(spent) > 60 && x(spent) < width - 150 ? text(x(spent), 52, "tick middle strong", num(spent)) : null,
    );
  });
}

/** Lines that only rise, over charges or time; series are [{name, klass, points: [[x, y]]}]. */
export function steps(series, { limit, limitName, label, xs, symbol }) {
  return drawn((width) => {
    const height = Math.min(Math.max(width * 0.34, 190), 280);
    const [left, bottom, right] = [46, 26, 34];
    const all = series.flatMap((one) => one.points);
    const [from, to] = [Math.min(...all.map((one) => one[0])), Math.max(...all.map((one) => one[0]))];
    const high = Math.max(limit ?? 0, ...all.map((one) => one[1])) * 1.06 || 1;
    const x = (at) => left + ((at - from) / (to - from || 1)) * (width - left - right);
    const y = (at) => height - bottom - (at / high) * (height - bottom - 10);
    // After the last step the line goes on a little, so that its height is seen.
    const path = (points) => points.map(([px, py], place) => (place ? `H${x(px).toFixed(1)}V${y(py).toFixed(1)}` : `M${x(px).toFixed(1)},${y(py).toFixed(1)}`)).join("") + `H${(width - 6).toFixed(1)}`;
    return picture(
      width, height, label,
      ticks(0, high, 4).map((at) => [line(left, y(at), width - right, y(at), "grid"), text(left - 6, y(at) + 4, "tick end", num(at))]),
      text(2, 10, "tick strong", symbol),
      xs(from, to, Math.max(Math.floor(width / 150), 2)).map(([at, name], place, list) => text(x(at), height - 7, place === 0 ? "tick" : place === list.length - 1 ? "tick end" : "tick middle", name)),
      limit === undefined ? null : [line(left, y(limit), width - right, y(limit), "limit"), text(width - right, y(limit) - 5, "tick end", limitName)],
      series.map((one) => s("path", { d: path(one.points), class: `stroke ${one.klass}` })),
      series.map((one) => s("circle", { cx: width - 6, cy: y(one.points.at(-1)[1]), r: 3.5, class: `dot ${one.klass}` })),
    );
  });
}

export const legend = (entries) => h("ul", { class: "legend" }, entries.map(([klass, name]) => h("li", {}, h("span", { class: `swatch ${klass}`, "aria-hidden": "true" }), name)));

/** A part of a whole, as a bar in a table's cell. */
export function share(part, whole, label) {
  const width = 140;
  const of = whole ? Math.min(part / whole, 1) : 0;
  return s("svg", { viewBox: `0 0 ${width} 10`, width, height: 10, role: "img", "aria-label": label }, s("rect", { x: 0, y: 0, width, height: 10, rx: 3, class: "track" }), s("rect", { x: 0, y: 0, width: of * width, height: 10, rx: 3, class: of > 0.9 ? "spent near" : "spent" }));
}
