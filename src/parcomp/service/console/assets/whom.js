// A filter by who asked, for the pages that list charges.

import { select } from "./dom.js";

/** Who asked: everyone, those without a name, or one analyst. No name can be taken for either of the first two. */
export function whom(analysts, state, changed) {
  const options = [["everyone", "everyone"], ...(analysts.includes("") ? [["unnamed", "custodian"]] : []), ...analysts.filter(Boolean).map((name) => [`name ${name}`, name])];
  const control = select(options, state.unnamed ? "unnamed" : state.analyst ? `name ${state.analyst}` : "everyone", { onchange: () => {
    state.unnamed = control.value === "unnamed" ? "true" : "";
    state.analyst = control.value.startsWith("name ") ? control.value.slice(5) : "";
    changed();
  } });
  return control;
}
