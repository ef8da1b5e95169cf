// The address is the state: every view can be linked, kept and loaded again. It stands after the #, which is never sent.

export function read() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { page: decodeURIComponent(path.split("/")[0]), parameters: Object.fromEntries(new URLSearchParams(query)) };
}

export function address(page, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  const query = new URLSearchParams(given).toString();
  return `#/${page}${query ? `?${query}` : ""}`;
}

export function go(page, parameters) {
  location.hash = address(page, parameters);
}

/** Note the state of the page that is shown, without showing it anew. */
export function note(page, parameters) {
  history.replaceState(history.state, "", address(page, parameters));
}

let handed = null;

/** Give the next page what it would otherwise have to ask for again. */
export function handOver(parameters, found) {
  handed = { key: address("", parameters), found };
}

export function taken(parameters) {
  const found = handed?.key === address("", parameters) ? handed.found : null;
  handed = null;
  return found;
}
