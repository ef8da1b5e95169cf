// SQL as text: quoting, words near to others, what fits at the cursor, and questions built by pointing.

const RESERVED = new Set("all and as asc between by case count date desc distinct else end false floor from group having in interval is limit not null or order select sum table then time timestamp true user values when where".split(" "));
export const KEYWORDS = ["SELECT", "COUNT(*)", "FROM", "WHERE", "GROUP BY", "AND", "OR", "NOT", "IN", "BETWEEN", "IS NULL", "SUM", "AVG"];

export const name = (text) => (/^[A-Za-z_][A-Za-z0-9_]*$/.test(text) && !RESERVED.has(text.toLowerCase()) ? text : `"${text.replaceAll('"', '""')}"`);
export const literal = (value) => (typeof value === "boolean" ? (value ? "TRUE" : "FALSE") : typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value));

/** What kind of attribute it is: values, bins, step, date or whole. */
export function kindOf(attribute) {
  if (attribute.values) return "values";
  if (attribute.bins) return "bins";
  if (attribute.step !== undefined) return "step";
  return typeof attribute.low === "string" ? "date" : "whole";
}
export const isNumber = (attribute) => ["step", "whole"].includes(kindOf(attribute));
export const binWidth = (attribute) => (Number(attribute.high) - Number(attribute.low)) / attribute.bins;

export function sizeOf(attribute) {
  const more = attribute.nullable ? 1 : 0;
  switch (kindOf(attribute)) {
    case "values": return attribute.values.length + more;
    case "bins": return attribute.bins + more;
    case "step": return Math.round((Number(attribute.high) - Number(attribute.low)) / Number(attribute.step)) + 1 + more;
    case "whole": return attribute.high - attribute.low + 1 + more;
    default: return null;
  }
}

/** A possible row in words. */
export function rowText(domain, row) {
  return Object.entries(row).map(([column, value]) => {
    const attribute = domain.attributes[column];
    if (value === null) return `${column} without a value`;
    const shown = typeof value === "number" ? value.toLocaleString("en-US") : String(value);
    return attribute && kindOf(attribute) === "bins" ? `${column} ${shown} up to ${(value + binWidth(attribute)).toLocaleString("en-US")}` : `${column} = ${shown}`;
  }).join(", ");
}

/** What can be asked of a number, and how it is written. */
export const ITEMS = {
  sum: ["the sum of", (column) => `SUM(${column})`],
  average: ["the average of", (column) => `AVG(${column})`],
  quantile: ["the median of", (column) => `MEDIAN(${column})`],
  deviation: ["the standard deviation of", (column) => `STDDEV(${column})`],
  distinct: ["the number of different values of", (column) => `COUNT(DISTINCT ${column})`],
};

/** A key of GROUP BY: {attribute, by}, where `by` is "" for each value, a width, a unit of time or a level. */
function keySql({ attribute, by }) {
  if (!by) return name(attribute);
  if (/^\d+$/.test(by)) return `FLOOR(${name(attribute)} / ${by}) * ${by}`;
  return UNITS.includes(by) ? `DATE_TRUNC('${by}', ${name(attribute)})` : name(by);
}
const UNITS = ["week", "month", "quarter", "year"];

/** How an attribute can be grouped, beside by each of its values: [by, label]. */
export function bandings(attribute) {
  const levels = Object.keys(attribute.levels ?? {}).map((level) => [level, `by ${level}`]);
  if (kindOf(attribute) === "whole") {
    const size = sizeOf(attribute);
    return [5, 10, 20, 50, 100, 1000, 10000].filter((width) => width * 2 <= size).slice(0, 5).map((width) => [String(width), `in bands of ${width}`]);
  }
  if (kindOf(attribute) === "date") return UNITS.slice(["hour", "day"].includes(attribute.unit ?? "day") ? 0 : attribute.unit === "month" ? 2 : 4).map((unit) => [unit, `by ${unit}`]);
  return levels;
}

/** How many groups a key makes, as far as that is told without the server. */
export function groupsOf(attribute, by) {
  const size = sizeOf(attribute);
  if (!by) return size;
  if (/^\d+$/.test(by)) return Math.floor(attribute.high / Number(by)) - Math.floor(attribute.low / Number(by)) + 1;
  return attribute.levels?.[by] ? Object.keys(attribute.levels[by]).length : null;
}

/** The question of a builder as SQL. `where` has for an attribute {values, nothing} or {from, to, nothing}. */
export function sqlOf(domain, table, question) {
  const items = question.items.map(({ kind, attribute }) => (kind === "count" ? "COUNT(*)" : ITEMS[kind][1](name(attribute))));
  const keys = question.groups.map(keySql);
  const conditions = Object.entries(question.where).map(([attribute, accepted]) => condition(domain.attributes[attribute], name(attribute), accepted)).filter(Boolean);
  const several = conditions.length > 1;
  const where = conditions.map((one) => (several && one.includes(" OR ") ? `(${one})` : one)).join(" AND ");
  return `SELECT ${[...keys, ...items].join(", ")} FROM ${name(table)}${where ? ` WHERE ${where}` : ""}${keys.length ? ` GROUP BY ${keys.join(", ")}` : ""}`;
}

function condition(attribute, column, accepted) {
  const parts = [];
  if (accepted.values) {
    const all = attribute.values;
    const chosen = all.filter((value) => accepted.values.includes(value));
    if (chosen.length === 1) parts.push(`${column} = ${literal(chosen[0])}`);
    else if (chosen.length && chosen.length < all.length) parts.push(`${column} IN (${chosen.map(literal).join(", ")})`);
    else if (!chosen.length && !accepted.nothing) return "";
    else if (chosen.length === all.length) return accepted.nothing || !attribute.nullable ? "" : `${column} IS NOT NULL`;
  } else {
    const bins = kindOf(attribute) === "bins";
    const [low, high] = [accepted.from ?? attribute.low, accepted.to ?? attribute.high];
    const [first, last] = [String(low) === String(attribute.low), String(high) === String(attribute.high)];
    const value = (one) => (kindOf(attribute) === "date" ? `'${one}'` : String(one));
    if (first && last) {
      if (accepted.nothing || !attribute.nullable) return "";
      return `${column} IS NOT NULL`;
    }
    if (bins) parts.push([first ? null : `${column} >= ${value(low)}`, last ? null : `${column} < ${value(high)}`].filter(Boolean).join(" AND "));
    else if (String(low) === String(high)) parts.push(`${column} = ${value(low)}`);
    else parts.push(first ? `${column} <= ${value(high)}` : last ? `${column} >= ${value(low)}` : `${column} BETWEEN ${value(low)} AND ${value(high)}`);
  }
  if (accepted.nothing && attribute.nullable) parts.push(`${column} IS NULL`);
  return parts.join(" OR ");
}

/** The question that a statement asks, for the builder; `keys` is its GROUP BY in SQL. Throws a sentence where pointing cannot say it. */
export function questionOf(domain, statement, sql, keys) {
  const items = (statement.items ?? [statement]).map(({ kind, attribute = null, at, of }) => {
    const known = kind === "count" ? attribute === null : kind in ITEMS && (kind !== "quantile" || at === "1/2") && of !== "rows";
    if (!known) throw new Error("What it asks for has no button here.");
    return { kind, attribute };
  });
  if (/\b(order\s+by|limit|having|round|offset)\b/i.test(sql.replace(/'(''|[^'])*'/g, ""))) throw new Error("It sorts or reworks the answer.");
  const groups = (statement.groups ?? []).map((key, place) => {
    if (typeof key === "string") return { attribute: key, by: "" };
    const by = bandings(domain.attributes[key.attribute]).map(([one]) => one).find((one) => keySql({ attribute: key.attribute, by: one }) === keys[place]);
    if (!by) throw new Error("It groups by bands of its own.");
    return { attribute: key.attribute, by };
  });
  const conjunctions = statement.where ?? [{}];
  if (conjunctions.length !== 1) throw new Error(conjunctions.length ? "It joins conditions on several attributes by OR." : "No row can satisfy it.");
  const where = {};
  for (const [attribute, accepted] of Object.entries(conjunctions[0])) {
    const understanding = understood(domain.attributes[attribute], accepted, attribute);
    // That a number is taken of rows with a value goes without saying.
    if (!isWhole(domain.attributes[attribute], understanding)) where[attribute] = understanding;
  }
  return { items, groups, where };
}

function isWhole(attribute, { values, from, to, nothing }) {
  if (attribute.nullable && !nothing) return false;
  return values ? false : String(from) === String(attribute.low) && String(to) === String(attribute.high);
}

/** Values by their place: bins, steps and units of time are numbered from the first one on. */
export function places(attribute) {
  const kind = kindOf(attribute);
  const width = kind === "bins" ? binWidth(attribute) : kind === "step" ? Number(attribute.step) : 1;
  if (kind !== "date") {
    const low = Number(attribute.low);
    const digits = kind === "step" ? (String(attribute.step).split(".")[1] ?? "").length : 0;
    return {
      of: (value) => Math.round((Number(value) - low) / width),
      at: (place) => (kind === "step" ? (low + place * width).toFixed(digits) : Number((low + place * width).toPrecision(12))),
      count: kind === "bins" ? attribute.bins : Math.round((Number(attribute.high) - low) / width) + 1,
    };
  }
  const unit = attribute.unit ?? "day";
  const number = (text) => {
    const [year, month = 1, rest = "1"] = String(text).split("-");
    if (unit === "year") return Number(year);
    if (unit === "month") return Number(year) * 12 + Number(month) - 1;
    const [date, hour = 0] = String(rest).split(/[T ]/);
    const days = Date.UTC(Number(year), Number(month) - 1, Number(date)) / 86400000;
    return unit === "day" ? days : days * 24 + Number(String(hour).slice(0, 2));
  };
  const written = (count) => {
    if (unit === "year") return String(count);
    if (unit === "month") return `${Math.floor(count / 12)}-${String((count % 12) + 1).padStart(2, "0")}`;
    return new Date(count * (unit === "day" ? 86400000 : 3600000)).toISOString().slice(0, unit === "day" ? 10 : 13);
  };
  const low = number(attribute.low);
  return { of: (value) => number(value) - low, at: (place) => written(place + low), count: number(attribute.high) - low + 1 };
}

function understood(attribute, accepted, column) {
  const listed = (one) => (Array.isArray(one) ? one : [one]);
  const not = accepted !== null && typeof accepted === "object" && !Array.isArray(accepted) && "not" in accepted;
  const named = listed(not ? accepted.not : accepted);
  const nothing = Boolean(attribute.nullable) && named.includes(null) !== not;
  if (kindOf(attribute) === "values") {
    const all = attribute.values;
    const isIn = (value) => named.some((one) => (one !== null && typeof one === "object" ? all.indexOf(value) >= all.indexOf(one.from) && all.indexOf(value) <= all.indexOf(one.to) : one === value));
    return { values: all.filter((value) => isIn(value) !== not), nothing };
  }
  const { of, at, count } = places(attribute);
  const runs = named.filter((one) => one !== null).map((one) => (typeof one === "object" ? [of(one.from), "below" in one ? of(one.below) : of(one.to) + 1] : [of(one), of(one) + 1])).sort((one, other) => one[0] - other[0]);
  let merged = [];
  for (const [start, stop] of runs) {
    if (merged.length && merged.at(-1)[1] >= start) merged.at(-1)[1] = Math.max(merged.at(-1)[1], stop);
    else merged.push([start, stop]);
  }
  if (not) {
    const edges = [0, ...merged.flat(), count];
    merged = [];
    for (let place = 0; place < edges.length; place += 2) if (edges[place] < edges[place + 1]) merged.push([edges[place], edges[place + 1]]);
  }
  if (merged.length !== 1) throw new Error(`It takes ${merged.length ? "several ranges" : "no value"} of ${column}.`);
  const [[start, stop]] = merged;
  return { from: at(start), to: at(kindOf(attribute) === "bins" ? stop : stop - 1), nothing };
}

/** The word at a place: {start, end, text}; the place is as the server names it, line and column from 1. */
export function wordAt(sql, line, column) {
  let start = 0;
  for (let row = 1; row < line; row += 1) start = sql.indexOf("\n", start) + 1 || sql.length;
  start = Math.min(start + column - 1, sql.length);
  const found = /^('(?:''|[^'])*'?|"(?:""|[^"])*"?|[A-Za-z_][\w.]*|\d[\w.]*|\S)/.exec(sql.slice(start));
  return found ? { start, end: start + found[0].length, text: found[0] } : { start: Math.max(start - 1, 0), end: start, text: "" };
}

/**
 * The word that an error is about, and what the error itself offers in its place: {word, offered}, or null.
 * The server knows what is declared and what is near; here nothing is guessed.
 */
export function nearest(domain, table, sql, at, message) {
  const wrong = /unknown (?:attribute|table) '([^'\\]*)'|(?:has no value|never is|value is like) '([^'\\]*)'|the function (\w+) is not supported/.exec(message);
  if (!wrong) return null;
  const [, identifier, value, called] = wrong;
  const word = placeOf(sql, at.start, value === undefined ? identifier ?? called : literal(value), value === undefined);
  if (!word) return null;
  const meant = /; did you mean ([^?]*)\?/.exec(message)?.[1].match(/'[^'\\]*'|[A-Z_]+(?= or |$)/g) ?? [];
  if (called !== undefined) return { word, offered: meant };
  const named = meant.map((one) => one.slice(1, -1));
  const all = Object.entries(domain.attributes);
  if (identifier !== undefined) {
    const names = [table, ...all.map(([one]) => one), ...all.flatMap(([, one]) => Object.keys(one.levels ?? {}))];
    return { word, offered: named.filter((one) => names.includes(one)).map(name) };
  }
  // A long value is cut in a message: only what is declared is offered.
  const declared = new Set(all.flatMap(([, one]) => [...(one.values ?? []), ...Object.values(one.levels ?? {}).flatMap(Object.keys)]));
  const near = named.length ? named.filter((one) => declared.has(one)) : groupsLike(domain, message, value);
  return { word, offered: near.map(literal) };
}

/** Where a word stands in SQL, from a place on: in an error that begins at a comparison the constant may be at fault. */
function placeOf(sql, from, text, named) {
  const [within, sought] = named ? [sql.toLowerCase(), text.toLowerCase()] : [sql, text];
  const apart = (place) => !named || !/\w/.test(sql[place] ?? "");
  for (let start = within.indexOf(sought, from); start >= 0; start = within.indexOf(sought, start + 1)) {
    const end = start + sought.length;
    // A name in double quotes is replaced with them.
    const quoted = named && sql[start - 1] === '"' && sql[end] === '"' ? 1 : 0;
    if (apart(start - 1) && apart(end)) return { start: start - quoted, end: end + quoted, text: sql.slice(start, end) };
  }
  return null;
}

/** The groups of a level that a text is part of, where the error is about a value of that level. */
function groupsLike(domain, message, text) {
  const level = /([A-Za-z_]\w*) has no value /.exec(message)?.[1];
  const groups = Object.values(domain.attributes).map((one) => one.levels?.[level]).find(Boolean);
  return groups && text ? Object.keys(groups).filter((one) => one.toLowerCase().includes(text.toLowerCase())).slice(0, 3) : [];
}

/** What fits at the cursor: {start, words}. */
export function completions(domain, table, sql, cursor) {
  const before = sql.slice(0, cursor);
  const open = /'((?:''|[^'])*)$/.exec(before);
  const inString = open && (before.match(/'/g) ?? []).length % 2 === 1;
  const attributes = Object.entries(domain.attributes);
  if (inString) {
    const attribute = /("(?:""|[^"])+"|[A-Za-z_]\w*)\s*(?:=|<>|!=|(?:not\s+)?in\s*\([^)]*)\s*$/i.exec(before.slice(0, open.index));
    const known = attribute && attributes.find(([one]) => name(one).toLowerCase() === attribute[1].toLowerCase());
    const values = (known ? known[1].values ?? [] : []).filter((value) => typeof value === "string");
    return { start: open.index, words: matching(values, open[1]).map(literal) };
  }
  const typed = /[A-Za-z_]\w*$/.exec(before)?.[0] ?? "";
  if (!typed) return { start: cursor, words: [] };
  const levels = attributes.flatMap(([, one]) => Object.keys(one.levels ?? {}));
  const words = matching([...attributes.map(([one]) => one), ...levels, table], typed).map(name);
  return { start: cursor - typed.length, words: [...new Set([...words, ...matching(KEYWORDS, typed)])].filter((one) => one !== typed).slice(0, 8) };
}

const matching = (words, typed) => {
  const sought = typed.toLowerCase();
  return words.filter((one) => one.toLowerCase().startsWith(sought)).concat(words.filter((one) => sought && one.toLowerCase().includes(sought) && !one.toLowerCase().startsWith(sought))).slice(0, 8);
};
