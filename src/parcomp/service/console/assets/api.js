// Requests to the server this page came from, and to no other. The cookie is one half of the key, the token here the other.

const TOKEN = "parcomp.token";
let waiting = 0;
let timer = 0;

export class Problem extends Error {
  constructor(status, document) {
    super(document.detail ?? "The server does not answer as expected.");
    Object.assign(this, document);
    this.status = status;
    this.kind = String(document.type ?? "").split(":").pop();
  }
}

export const hasToken = () => Boolean(localStorage.getItem(TOKEN));
export const keepToken = (token) => localStorage.setItem(TOKEN, token);
export const dropToken = () => localStorage.removeItem(TOKEN);

/** Show that something is waited for, unless it comes at once. */
export function busy(change) {
  waiting += change;
  clearTimeout(timer);
  const line = document.getElementById("busy");
  if (waiting > 0) timer = setTimeout(() => (line.hidden = false), 80);
  else line.hidden = true;
}

export async function call(method, path, body, { headers = {}, signal, quiet = false } = {}) {
  const token = localStorage.getItem(TOKEN);
  const sent = { ...headers };
  if (token) sent["X-CSRF-Token"] = token;
  if (body !== undefined) sent["Content-Type"] = "application/json";
  if (!quiet) busy(1);
  let response;
  try {
    response = await fetch(path, { method, headers: sent, body: body === undefined ? undefined : JSON.stringify(body), signal, credentials: "same-origin", cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, { detail: "The server cannot be reached. Try again when it is back.", type: "offline" });
  } finally {
    if (!quiet) busy(-1);
  }
  const text = await response.text();
  const document = text ? JSON.parse(text) : {};
  if (response.ok) return document;
  if (response.status === 401 && path !== "/console/session") {
    dropToken();
    dispatchEvent(new Event("signed-out"));
  }
  throw new Problem(response.status, document);
}

export const get = (path, parameters, options) => {
  const given = Object.entries(parameters ?? {}).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  const query = new URLSearchParams(given).toString();
  return call("GET", query ? `${path}?${query}` : path, undefined, options);
};
export const post = (path, body, options) => call("POST", path, body, options);

/** The same request sent again after a failure in between is charged once. */
export async function ask(body) {
  const headers = { "Idempotency-Key": crypto.randomUUID?.() ?? Array.from(crypto.getRandomValues(new Uint32Array(4))).join("-") };
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await post("/v1/answers", body, { headers });
    } catch (problem) {
      if (attempt >= 4 || !(problem.status === 0 || problem.status === 503 || problem.status === 429)) throw problem;
      await new Promise((done) => setTimeout(done, 500 * 2 ** attempt));
    }
  }
}
