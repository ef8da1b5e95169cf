// Analysts: their quotas, and keys, which are made here, shown once, and revoked.

import * as api from "./api.js";
import { share } from "./charts.js";
import { copyButton, empty, field, h, notice, num, select, table, time } from "./dom.js";
import * as route from "./route.js";
import { both, bothKinds } from "./whose.js";

export async function render({ session, signal, reload }) {
  const { symbol } = session;
  const [balance, { keys }] = await Promise.all([api.get("/v1/budget", {}, { signal }), api.get("/console/keys", {}, { signal })]);
  const people = Object.entries(balance.analysts);
  const good = (name) => keys.filter((one) => one.name === name && !one.revoked).length;
  return [
    h("h1", {}, "Analysts"),
    people.length ? table([
      ["Name", ([name]) => h("a", { href: route.address("charges", { analyst: name }) }, name)],
      ["Spent", ([, one]) => both(one, "spent", symbol, balance.delta), { number: true }],
      ["Quota", ([, one]) => (one.quota === null ? "only the budget" : both(one, "quota", symbol, balance.delta)), { number: true }],
      ["Share", ([name, one]) => share(one.spent, one.quota ?? balance.budget, `${name} has spent ${num(one.spent)} of ${num(one.quota ?? balance.budget)}`)],
      ["Keys", ([name]) => num(good(name)), { number: true }],
    ], people, { caption: "Analysts and their quotas" }) : empty("No analysts yet", "The settings declare none, so whoever has an analyst’s key may ask. Make a key below."),
    people.length ? bothKinds(session) : null,
    h("p", { class: "hint" }, "Quotas are read here and changed in the settings file that the server was started with: ", h("code", {}, 'quota = "0.3"'), " under ", h("code", {}, "[analysts.NAME]"), ". Start the server again to have it take effect; what was spent stands."),
    making(session, people, reload),
    h("h2", {}, "Keys"),
    table([
      ["Key", (one) => num(one.number), { number: true }],
      ["Name", (one) => one.name],
      ["Role", (one) => one.role],
      ["Made", (one) => time(one.added)],
      ["Revoked", (one) => (one.revoked ? time(one.revoked) : "–")],
      [h("span", { class: "unseen" }, "Revoke"), (one) => (one.revoked ? "" : revoking(one, session, keys, reload))],
    ], keys.slice().reverse(), { caption: "Keys" }),
  ];
}

function making(session, people, reload) {
  const name = session.analysts.length ? h("input", { name: "name", required: true, maxlength: 100, list: "known-names", autocomplete: "off" }) : h("input", { name: "name", required: true, maxlength: 100, autocomplete: "off" });
  const role = select([["analyst", "analyst: asks"], ["custodian", "custodian: sees everything"]], "analyst", { name: "role" });
  const said = h("div", { "aria-live": "polite" });
  const form = h("form", { class: "row", onsubmit: async (event) => {
    event.preventDefault();
    try {
      const made = await api.post("/console/keys", { name: name.value.trim(), role: role.value });
      const done = h("button", { type: "button", onclick: reload }, "I have noted it");
      said.replaceChildren(notice("good", h("p", {}, `The key of ${made.name}, ${made.role}. It is shown this once and stored as a digest only:`), h("p", { class: "secret" }, made.key), h("div", { class: "row" }, copyButton("Copy", () => made.key), done)));
      form.reset();
    } catch (error) {
      said.replaceChildren(notice("bad", error.message));
    }
  } }, field("Name", name), field("Role", role), h("button", { type: "submit", class: "primary" }, "Make a key"), h("datalist", { id: "known-names" }, people.map(([one]) => h("option", { value: one }))));
  return h("section", { class: "card", "aria-labelledby": "make" }, h("h2", { id: "make" }, "Make a key"), form, said);
}

function revoking(key, session, keys, reload) {
  const box = h("span", { class: "row" });
  const others = keys.filter((one) => one.name === key.name && !one.revoked).length;
  const ask = h("button", { type: "button", class: "quiet danger", "aria-label": `Revoke the keys of ${key.name}` }, "Revoke");
  ask.addEventListener("click", () => {
    const sure = h("button", { type: "button", class: "quiet danger", onclick: async () => { await api.post("/console/keys/revoked", { name: key.name }); await reload(); } }, others > 1 ? `Revoke all ${others} of ${key.name}` : `Revoke ${key.name}’s key`);
    const keep = h("button", { type: "button", class: "quiet", onclick: () => box.replaceChildren(ask) }, "Keep");
    const older = others > 1 ? h("button", { type: "button", class: "quiet danger", onclick: async () => { await api.post("/console/keys/revoked", { name: key.name, older: true }); await reload(); } }, "All but the latest") : null;
    box.replaceChildren(...[sure, older, keep].filter(Boolean));
    sure.focus();
  });
  box.append(ask);
  if (key.name === session.name) box.append(h("span", { class: "hint" }, "yours"));
  return box;
}
