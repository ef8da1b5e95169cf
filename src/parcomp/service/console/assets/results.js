// An answer as rows of figures, whatever its shape: one number, groups, or several columns.

import { num, plusMinus } from "./dom.js";

const keyed = (label) => (label === null ? "no value" : String(label));

/** {labels: names of the keys, columns: names of the figures, rows: [{labels, figures: [{value, low, high, error}]}]} */
export function tabulated(answer) {
  const errors = (place) => answer.errors?.[place] ?? [];
  if (answer.columns) {
    const figures = answer.names.map((name, place) => [name, place]).filter(([, place]) => answer.intervals[place] !== null);
    const labels = answer.names.map((name, place) => [name, place]).filter(([, place]) => answer.intervals[place] === null);
    const rows = (answer.columns[0] ?? []).map((_, row) => ({
      labels: labels.map(([, place]) => answer.columns[place][row]),
      figures: figures.map(([, place]) => ({ value: answer.columns[place][row], low: answer.intervals[place][row][0], high: answer.intervals[place][row][1], error: errors(place)[row] ?? null })),
    }));
    return { labels: labels.map(([name]) => name), columns: figures.map(([name]) => name), rows };
  }
  const own = errors((answer.errors ?? []).findIndex(Boolean));
  if (answer.groups) {
    const labels = Object.keys(answer.groups[0]?.group ?? {});
    const rows = answer.groups.map((one, row) => ({ labels: labels.map((name) => one.group[name]), figures: [figure(one, own[row])] }));
    return { labels, columns: ["value"], rows };
  }
  return { labels: [], columns: ["value"], rows: [{ labels: [], figures: [figure(answer, own[0])] }] };
}

const figure = (one, error) => ({ value: one.value, low: one.interval?.[0] ?? null, high: one.interval?.[1] ?? null, error: error ?? null });

/** The expected error of a figure; "" where none is known. */
export const offBy = ({ value, error }) => (value === null || error === null ? "" : plusMinus(error));

export const labelOf = (row) => row.labels.map(keyed).join(" · ") || "all";
export { keyed };

/** An answer in a line: a number with its interval, or how many groups there are. */
export function brief(answer) {
  const { rows, columns, labels } = tabulated(answer);
  if (rows.length === 1 && columns.length === 1 && !labels.length) {
    const [{ value, low, high }] = rows[0].figures;
    return low === null ? num(value) : `${num(value)} (${num(low)} to ${num(high)})`;
  }
  return `${num(rows.length)} ${labels.length ? "groups" : "row"}${columns.length > 1 ? ` of ${columns.length} numbers` : ""}`;
}
