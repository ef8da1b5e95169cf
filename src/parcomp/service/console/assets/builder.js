// A question by pointing: what to show, of which rows, in which groups. It hands out its question; it knows no SQL.

import { field, h, newId, num, select } from "./dom.js";
import { ITEMS, bandings, binWidth, groupsOf, isNumber, kindOf, sizeOf } from "./sqltext.js";

const MOST_GROUPS = 100000;

export function builder({ domain, question, changed }) {
  const root = h("div", { class: "builder" });
  const attributes = Object.entries(domain.attributes);
  const numbers = attributes.filter(([, one]) => isNumber(one)).map(([name]) => name);
  let asked = question;
  let opened = "";
  let touched = false;

  const tell = () => changed(structuredClone(asked));

  const itemText = ({ kind, attribute }) => (kind === "count" ? "the number of rows" : `${ITEMS[kind][0]} ${attribute}`);

  function shownItems() {
    const choices = [{ kind: "count", attribute: null }, ...Object.keys(ITEMS).flatMap((kind) => (kind === "distinct" ? attributes.map(([name]) => name) : numbers).map((attribute) => ({ kind, attribute })))];
    const has = (one) => asked.items.some((item) => item.kind === one.kind && item.attribute === one.attribute);
    const chips = asked.items.map((item) => h("span", { class: "chip set" }, itemText(item), asked.items.length > 1 ? h("button", { type: "button", class: "drop", "aria-label": `Leave out ${itemText(item)}`, onclick: () => { asked.items = asked.items.filter((one) => one !== item); tell(); draw(".builder select"); } }, "×") : null));
    const left = choices.map((one, place) => [String(place), itemText(one), has(one)]).filter(([, , there]) => !there).map(([value, label]) => [value, label]);
    const more = select([["", "Add a number…"], ...left], "", { "aria-label": "Add a number", onchange: () => {
      if (more.value === "") return;
      const added = choices[Number(more.value)];
      // Alone, the number of rows is a beginning, and gives way to what was meant.
      asked.items = asked.items.length === 1 && asked.items[0].kind === "count" && !touched ? [added] : [...asked.items, added];
      touched = true;
      tell();
      draw(".builder select");
    } });
    return h("div", { class: "slot", role: "group", "aria-label": "Show" }, h("h3", {}, "Show"), h("div", { class: "chips" }, chips, more));
  }

  function summary(name) {
    const accepted = asked.where[name];
    if (!accepted) return "";
    if (accepted.values) {
      const chosen = [...accepted.values.map(String), ...(accepted.nothing ? ["no value"] : [])];
      return chosen.length <= 2 ? chosen.join(", ") : `${chosen.length} values`;
    }
    const attribute = domain.attributes[name];
    const [from, to] = [accepted.from ?? attribute.low, accepted.to ?? attribute.high];
    const range = String(from) === String(to) ? `${from}` : kindOf(attribute) === "bins" ? `${from} up to ${to}` : `${from} to ${to}`;
    return accepted.nothing ? `${range}, no value` : range;
  }

  function chip(name) {
    const said = summary(name);
    const panel = newId("panel");
    return h("button", {
      type: "button", class: `chip${said ? " set" : ""}`, "aria-expanded": String(opened === name), "aria-controls": opened === name ? panel : null,
      "data-attribute": name,
      onclick: () => { opened = opened === name ? "" : name; draw(`[data-attribute="${CSS.escape(name)}"]`); },
    }, name, said ? h("span", { class: "said" }, said) : null);
  }

  function set(name, accepted) {
    if (accepted) asked.where[name] = accepted;
    else delete asked.where[name];
    tell();
    // The chips say what was chosen; the panel stays as it is, with what has the focus.
    const old = root.querySelector(`.chip[data-attribute="${CSS.escape(name)}"]`);
    old?.replaceWith(chip(name));
  }

  function values(name, attribute) {
    // None ticked is any value, as with chips: whoever wants one of twelve ticks one.
    const chosen = new Set(asked.where[name]?.values ?? []);
    let nothing = Boolean(asked.where[name]?.nothing);
    const boxes = [];
    const note = () => {
      const whole = chosen.size === attribute.values.length && (nothing || !attribute.nullable);
      set(name, whole || (!chosen.size && !nothing) ? null : { values: attribute.values.filter((value) => chosen.has(value)), nothing: nothing && Boolean(attribute.nullable) });
    };
    const row = (label, on, toggle) => {
      const box = h("input", { type: "checkbox", checked: on, onchange: () => { toggle(box.checked); note(); } });
      boxes.push(box);
      return h("label", { class: "check", "data-label": label.toLowerCase() }, box, label);
    };
    const rows = attribute.values.map((value) => row(String(value), chosen.has(value), (on) => (on ? chosen.add(value) : chosen.delete(value))));
    if (attribute.nullable) rows.push(row("no value", nothing, (on) => (nothing = on)));
    const every = (on) => {
      attribute.values.forEach((value) => (on ? chosen.add(value) : chosen.delete(value)));
      nothing = on;
      boxes.forEach((box) => (box.checked = on));
      note();
    };
    const search = attribute.values.length > 12 && h("input", { type: "search", placeholder: "Find a value", "aria-label": `Find a value of ${name}`, oninput: () => rows.forEach((one) => (one.hidden = !one.dataset.label.includes(search.value.toLowerCase()))) });
    return [h("div", { class: "row" }, search, h("button", { type: "button", class: "quiet", onclick: () => every(true) }, "All"), h("button", { type: "button", class: "quiet", onclick: () => every(false) }, "None"), h("span", { class: "hint" }, "None ticked: any value.")), h("div", { class: "checks" }, rows)];
  }

  function range(name, attribute) {
    const kind = kindOf(attribute);
    const now = asked.where[name] ?? { from: attribute.low, to: attribute.high, nothing: true };
    const dated = kind === "date" && { day: "date", month: "month", hour: "datetime-local" }[attribute.unit ?? "day"];
    const step = kind === "bins" ? binWidth(attribute) : kind === "step" ? attribute.step : kind === "whole" ? 1 : undefined;
    const shared = { type: dated || "number", min: attribute.low, max: attribute.high, step: dated ? undefined : step };
    const low = h("input", { ...shared, value: String(now.from ?? attribute.low) });
    const high = h("input", { ...shared, value: String(now.to ?? attribute.high) });
    const nothing = attribute.nullable && h("input", { type: "checkbox", checked: now.nothing });
    const sliders = dated ? [] : [low, high].map((input, end) => h("input", { type: "range", min: attribute.low, max: attribute.high, step, value: input.value, "aria-label": `${name}, ${end ? "to" : "from"}`, oninput: (event) => { input.value = event.target.value; ordered(input); note(); } }));
    const edge = (text) => {
      if (dated) return text;
      const [least, most] = [Number(attribute.low), Number(attribute.high)];
      const steps = Math.round((Math.min(Math.max(Number(text), least), most) - least) / Number(step));
      const digits = (String(step).split(".")[1] ?? "").length;
      return kind === "step" ? (least + steps * Number(step)).toFixed(digits) : Number((least + steps * Number(step)).toPrecision(12));
    };
    function ordered(moved) {
      const wide = kind === "bins" ? Number(step) : 0;
      if (dated || Number(low.value) + wide <= Number(high.value)) return;
      if (moved === low) high.value = String(Math.min(Number(low.value) + wide, Number(attribute.high)));
      low.value = String(Math.min(Number(low.value), Number(high.value) - wide));
      if (moved === high) low.value = String(Math.max(Number(high.value) - wide, Number(attribute.low)));
      high.value = String(Math.max(Number(high.value), Number(low.value) + wide));
    }
    function note() {
      sliders.forEach((slider, end) => (slider.value = (end ? high : low).value));
      if (!low.value || !high.value) return;
      const [from, to] = [edge(low.value), edge(high.value)];
      const empty = Boolean(nothing && nothing.checked);
      const whole = String(from) === String(attribute.low) && String(to) === String(attribute.high) && (empty || !attribute.nullable);
      set(name, whole ? null : { from, to, nothing: empty });
    }
    for (const input of [low, high]) input.addEventListener("change", () => { input.value = String(edge(input.value)); ordered(input); note(); });
    nothing && nothing.addEventListener("change", note);
    return [
      h("div", { class: "row ends" }, field("From", low), field(kind === "bins" ? "Up to, not including" : "To", high)),
      sliders.length ? h("div", { class: "sliders" }, sliders) : null,
      kind === "bins" ? h("p", { class: "hint" }, `Known in ${num(attribute.bins)} bins of ${num(binWidth(attribute))}.`) : null,
      nothing ? h("label", { class: "check" }, nothing, "also rows without a value") : null,
      h("button", { type: "button", class: "quiet", onclick: () => { set(name, null); opened = name; draw(); } }, "Any value"),
    ];
  }

  function groups() {
    const many = (attribute, by) => groupsOf(domain.attributes[attribute], by);
    const count = asked.groups.reduce((product, { attribute, by }) => product * (many(attribute, by) ?? 1), 1);
    const chips = attributes.map(([name, attribute]) => {
      const size = sizeOf(attribute);
      const on = asked.groups.some((one) => one.attribute === name);
      const wide = bandings(attribute);
      const tooMany = !on && size !== null && count * size > MOST_GROUPS && !wide.length;
      return h("button", {
        type: "button", class: `chip${on ? " set" : ""}`, "aria-pressed": String(on), "data-group": name, disabled: tooMany, title: tooMany ? "That would be too many groups" : null,
        onclick: () => {
          const by = size !== null && size > 100 && wide.length ? wide.at(-1)[0] : "";
          asked.groups = on ? asked.groups.filter((one) => one.attribute !== name) : [...asked.groups, { attribute: name, by }];
          tell();
          draw(`[data-group="${CSS.escape(name)}"]`);
        },
      }, name, size ? h("span", { class: "said" }, num(size)) : null);
    });
    const banded = asked.groups.filter(({ attribute }) => bandings(domain.attributes[attribute]).length).map((group) => {
      const control = select([["", "by each value"], ...bandings(domain.attributes[group.attribute])], group.by, { onchange: () => { group.by = control.value; tell(); } });
      return field(group.attribute, control);
    });
    const told = asked.groups.every(({ attribute, by }) => many(attribute, by) !== null);
    return h("div", { class: "slot", role: "group", "aria-label": "In groups by" }, h("h3", {}, "In groups by"), h("div", { class: "chips" }, chips), banded.length ? h("div", { class: "row" }, banded) : null, asked.groups.length ? h("p", { class: "hint" }, `${told ? `Up to ${num(count)} groups` : "All groups"}, charged once: a row is in one of them.`) : null);
  }

  function draw(focus) {
    const attribute = opened && domain.attributes[opened];
    root.replaceChildren(
      shownItems(),
      h("div", { class: "slot", role: "group", "aria-label": "Of the rows with" },
        h("h3", {}, "Of the rows with"),
        h("div", { class: "chips" }, attributes.map(([name]) => chip(name))),
        attribute ? h("div", { class: "panel", role: "group", "aria-label": opened }, h("h4", {}, opened), kindOf(attribute) === "values" ? values(opened, attribute) : range(opened, attribute)) : null),
      groups(),
    );
    if (focus) root.querySelector(focus)?.focus();
  }

  draw();
  return {
    element: root,
    show(next) { asked = structuredClone(next); draw(); },
  };
}
