/** What `statelet run --live` shows: the welcome, a table of the pods, and the latest log lines, cut to the size of the terminal. */
import {
  cutText,
  oneLine,
  padText,
  printableStyled,
  textWidth,
  wrapText,
} from '../../agent/policies/formats/terminal-text.ts';
import type { LivePod } from '../../types/served-pod.ts';
import { byName, POD_COLUMNS, podRow } from '../pod-row.ts';

export interface LiveFacts {
  readonly welcome: readonly string[];
  readonly pods: readonly LivePod[];
  /** What is shown in place of an empty table. */
  readonly ifEmpty: string;
  /** The oldest first. */
  readonly log: readonly string[];
  readonly nowMs: number;
}

export interface LiveSize {
  readonly columns: number;
  readonly rows: number;
  readonly hasColours: boolean;
}

/** Smaller terminals get no welcome, and no empty lines. */
const ROOMY_ROWS = 16;
const LOG_ROWS_MIN = 3;
/** Names that are longer are cut, as a share of the terminal. */
const NAME_SHARE = 0.3;
const NAME_WIDTH_MIN = 12;
const [NAMESPACE_COLUMN, STATUS_COLUMN, RESTARTS_COLUMN, AGE_COLUMN] = [0, 3, 4, 5];
const GAP = '   ';
const WHY_MARK = '  └ ';
const WHY_INDENT = '    ';

/** A line for each row of the terminal, and no more of them than there are rows. */
export function liveFrame(facts: LiveFacts, size: LiveSize): readonly string[] {
  const { rows, columns } = size;
  const isRoomy = rows >= ROOMY_ROWS;
  const top = isRoomy ? [...facts.welcome, ''] : [];
  const gap = isRoomy ? [''] : [];
  const room = Math.max(0, rows - top.length - gap.length);
  const logMin = Math.min(facts.log.length, Math.max(LOG_ROWS_MIN, Math.floor(room / 3)), room);
  const table = tableLines(facts, size, room - logMin);
  const log = latest(facts.log, room - table.length);
  return [...top, ...table, ...gap, ...log]
    .slice(0, rows)
    .map((line) => cutText(printableStyled(line), columns));
}

interface Shown {
  readonly cells: readonly string[];
  /** In lines that are no wider than the terminal. */
  readonly why: readonly string[];
  readonly colour: Colour;
}

/** At most `room` lines. What pods wait for stands below them where all of that has room. */
function tableLines({ pods, nowMs, ifEmpty }: LiveFacts, size: LiveSize, room: number): readonly string[] {
  if (room <= 0) return [];
  if (pods.length === 0) return [ifEmpty];
  const shown = pods.map((pod) => shownPod(pod, nowMs, size.columns));
  const ordered = shown.toSorted((a, b) => byName(a.cells, b.cells));
  const whyLines = shown.reduce((sum, { why }) => sum + why.length, 0);
  if (pods.length + whyLines < room) return drawn(ordered, size);
  const brief = ordered.map((pod) => ({ ...pod, why: [] }));
  if (pods.length < room) return drawn(brief, size);
  // The header and the line about the rest take two.
  const keptMax = Math.max(0, room - 2);
  const troubledFirst = ordered.toSorted((a, b) => Number(a.why.length === 0) - Number(b.why.length === 0));
  const kept = troubledFirst.slice(0, keptMax).map((pod) => ({ ...pod, why: [] }));
  return [...drawn(kept, size), `… and ${pods.length - kept.length} more: statelet pods`].slice(-room);
}

function shownPod({ pod, status, state, why }: LivePod, nowMs: number, columns: number): Shown {
  const current = status === undefined ? pod : { ...pod, status };
  const nameWidth = Math.max(NAME_WIDTH_MIN, Math.floor(columns * NAME_SHARE));
  const cells = podRow({ pod: current, state, waitsFor: undefined }, nowMs).map((cell, column) =>
    cutText(oneLine(cell), column < 2 ? nameWidth : columns),
  );
  const lines = why === undefined ? [] : wrapText(oneLine(why), columns - WHY_INDENT.length);
  return { cells, why: lines, colour: colourOf(cells, lines.length > 0) };
}

function drawn(shown: readonly Shown[], { columns, hasColours }: LiveSize): readonly string[] {
  const widths = POD_COLUMNS.map((title, column) =>
    Math.max(title.length, ...shown.map(({ cells }) => textWidth(cells[column] ?? ''))),
  );
  const kept = keptColumns(shown, widths, columns);
  const paint = (text: string, colour: Colour) => (hasColours ? coloured(text, colour) : text);
  const line = (cells: readonly string[], colour?: Colour) => {
    const padded = kept.map((column) => padText(cells[column] ?? '', widths[column] ?? 0));
    const status = kept.indexOf(STATUS_COLUMN);
    return padded
      .map((cell, index) => (index === status && colour !== undefined ? paint(cell, colour) : cell))
      .join(GAP)
      .trimEnd();
  };
  return [
    paint(line(POD_COLUMNS), 'bold'),
    ...shown.flatMap(({ cells, why, colour }) => [
      line(cells, colour),
      ...why.map((text, index) => paint(`${index === 0 ? WHY_MARK : WHY_INDENT}${text}`, 'dim')),
    ]),
  ];
}

/** On a narrow terminal the state goes before the columns that say less. */
function keptColumns(shown: readonly Shown[], widths: readonly number[], columns: number): readonly number[] {
  const hasOneNamespace = new Set(shown.map(({ cells }) => cells[NAMESPACE_COLUMN])).size === 1;
  const lesser = [...(hasOneNamespace ? [NAMESPACE_COLUMN] : []), AGE_COLUMN, RESTARTS_COLUMN];
  const total = (kept: readonly number[]) =>
    kept.reduce((sum, column) => sum + (widths[column] ?? 0), GAP.length * (kept.length - 1));
  return lesser.reduce(
    (kept, column) => (total(kept) > columns ? kept.filter((other) => other !== column) : kept),
    [...POD_COLUMNS.keys()],
  );
}

/** Of pods with the same figures, those that need a look stand out. */
function colourOf(cells: readonly string[], isWaiting: boolean): Colour {
  const status = cells[STATUS_COLUMN] ?? '';
  if (/Error|BackOff|Failed|Evicted|Exit|Signal|OOM|Unknown|Invalid/u.test(status)) return 'red';
  return isWaiting ? 'yellow' : 'green';
}

const CODES = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] } as const;
type Colour = keyof typeof CODES;

function coloured(text: string, colour: Colour): string {
  const [on, off] = CODES[colour];
  return `\u001b[${on}m${text}\u001b[${off}m`;
}

function latest(lines: readonly string[], count: number): readonly string[] {
  return count <= 0 ? [] : lines.slice(-count);
}
