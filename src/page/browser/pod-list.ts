/** Which pods the table shows, in which order. */
import type { PodHealth, PodRow } from '../../types/page-views.ts';
import { healthAt, needOf } from './health-view.ts';

export type Column = 'need' | 'name' | 'since' | 'restarts' | 'state';
/** `gone`: pods that are not here any more. They have another list. */
export type Shown = 'all' | 'attention' | 'starting' | 'ending' | 'gone';

export interface Choice {
  readonly search: string;
  readonly show: Shown;
  readonly column: Column;
  readonly isDescending: boolean;
}

export const ALL_PODS: Choice = { search: '', show: 'all', column: 'need', isDescending: false };
const COLUMNS: readonly Column[] = ['need', 'name', 'since', 'restarts', 'state'];
export const SHOWN: Readonly<Record<Shown, string>> = {
  attention: 'Needs attention',
  starting: 'Starting',
  ending: 'Ending',
  all: 'All',
  gone: 'Gone',
};

/** As a part of the address says it: `search=web&show=attention&sort=-restarts`. */
export function choiceOf(query: URLSearchParams): Choice {
  const sort = query.get('sort') ?? '';
  const column = COLUMNS.find((one) => one === sort.replace(/^-/u, ''));
  const show = query.get('show') ?? '';
  return {
    search: query.get('search') ?? '',
    show: Object.hasOwn(SHOWN, show) ? (show as Shown) : 'all',
    column: column ?? 'need',
    isDescending: column !== undefined && sort.startsWith('-'),
  };
}

/** Defaults are left out. */
export function queryOf({ search, show, column, isDescending }: Choice): URLSearchParams {
  const sort = `${isDescending ? '-' : ''}${column}`;
  const parts = { search, show: show === 'all' ? '' : show, sort: sort === 'need' ? '' : sort };
  return new URLSearchParams(Object.entries(parts).filter(([, value]) => value !== ''));
}

export function isSame(a: Choice, b: Choice): boolean {
  return queryOf(a).toString() === queryOf(b).toString();
}

/** With its health at that time. */
export interface Seen {
  readonly row: PodRow;
  readonly health: PodHealth;
}

export interface SeenPods {
  readonly chosen: readonly Seen[];
  readonly counts: Readonly<Record<Exclude<Shown, 'gone'>, number>>;
  /** Until then, time alone changes neither the order nor the counts. */
  readonly untilMs: number;
}

/** The words of the search must all occur in what the row says. Counts are of all pods. */
export function seenPods(rows: Iterable<PodRow>, choice: Choice, nowMs: number): SeenPods {
  const counts = { all: 0, attention: 0, starting: 0, ending: 0 };
  const chosen: Seen[] = [];
  const isWanted = searchOf(choice.search);
  let untilMs = Infinity;
  for (const row of rows) {
    const health = healthAt(row, nowMs);
    const shown = shownOf(health);
    counts.all += 1;
    if (shown !== 'all') counts[shown] += 1;
    if (health === row.health && health.untilMs !== undefined) untilMs = Math.min(untilMs, health.untilMs);
    if ((choice.show === 'all' || choice.show === shown) && isWanted(textOf(row)))
      chosen.push({ row, health });
  }
  const sign = choice.isDescending ? -1 : 1;
  chosen.sort((a, b) => sign * compare(a, b, choice.column) || byName(a.row, b.row));
  return { chosen, counts, untilMs };
}

/** Failed pods need attention as well. `all`: the pod has no list of its own. */
function shownOf({ kind }: PodHealth): 'all' | 'attention' | 'starting' | 'ending' {
  if (kind === 'failed') return 'attention';
  return kind === 'ok' || kind === 'done' ? 'all' : kind;
}

/** Whether all words of the search occur in a text. */
export function searchOf(search: string): (text: string) => boolean {
  const words = search.toLowerCase().split(/\s+/u).filter(Boolean);
  if (words.length === 0) return () => true;
  return (text) => {
    const lower = text.toLowerCase();
    return words.every((word) => lower.includes(word));
  };
}

const textOf = ({ namespace, name, status, state, phase, says }: PodRow): string =>
  `${namespace}/${name} ${status} ${state} ${phase} ${says}`;

function compare(a: Seen, b: Seen, column: Column): number {
  switch (column) {
    case 'need':
      return needOf(a.health.kind) - needOf(b.health.kind) || byTrouble(a, b);
    case 'name':
      return byName(a.row, b.row);
    case 'since':
      return sinceMs(a) - sinceMs(b);
    case 'restarts':
      return a.row.restarts - b.row.restarts;
    case 'state':
      return order(a.row.state, b.row.state);
  }
}

/** The pod that has been in trouble longest comes first. Healthy pods are ordered by name. */
function byTrouble(a: Seen, b: Seen): number {
  return a.health.kind === 'ok' ? 0 : sinceMs(a) - sinceMs(b);
}

const sinceMs = ({ row, health }: Seen): number => health.sinceMs ?? row.sinceMs ?? 0;

function byName(a: PodRow, b: PodRow): number {
  return order(a.namespace, b.namespace) || order(a.name, b.name);
}

const order = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/** How many pods are in each state. */
export function stateCounts(rows: Iterable<PodRow>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { state } of rows) counts.set(state, (counts.get(state) ?? 0) + 1);
  return counts;
}

export const podLink = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string =>
  `#/pod/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
