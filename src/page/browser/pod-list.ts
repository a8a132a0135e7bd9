/** Which pods the table shows, in which order. */
import type { PodRow } from '../../types/page-views.ts';

export type Column = 'name' | 'state' | 'since' | 'restarts';

export interface Choice {
  readonly search: string;
  /** Only this state; empty: all. */
  readonly state: string;
  readonly column: Column;
  readonly isDescending: boolean;
}

export const ALL_PODS: Choice = { search: '', state: '', column: 'name', isDescending: false };
const COLUMNS: readonly Column[] = ['name', 'state', 'since', 'restarts'];

/** As a part of the address says it: `search=web&state=Syncing.Settled&sort=-restarts`. */
export function choiceOf(query: URLSearchParams): Choice {
  const sort = query.get('sort') ?? '';
  const column = COLUMNS.find((one) => one === sort.replace(/^-/u, ''));
  return {
    search: query.get('search') ?? '',
    state: query.get('state') ?? '',
    column: column ?? 'name',
    isDescending: column !== undefined && sort.startsWith('-'),
  };
}

/** What is as usual is left out. */
export function queryOf({ search, state, column, isDescending }: Choice): URLSearchParams {
  const sort = `${isDescending ? '-' : ''}${column}`;
  const parts = { search, state, sort: sort === 'name' ? '' : sort };
  return new URLSearchParams(Object.entries(parts).filter(([, value]) => value !== ''));
}

export function isSame(a: Choice, b: Choice): boolean {
  return queryOf(a).toString() === queryOf(b).toString();
}

/** The words of the search must all occur in what the row says. */
export function chosenRows(rows: Iterable<PodRow>, choice: Choice): PodRow[] {
  const words = choice.search.toLowerCase().split(/\s+/u).filter(Boolean);
  const chosen: PodRow[] = [];
  for (const row of rows) {
    if (choice.state !== '' && row.state !== choice.state) continue;
    if (words.length === 0 || hasAll(row, words)) chosen.push(row);
  }
  const sign = choice.isDescending ? -1 : 1;
  return chosen.sort((a, b) => sign * compare(a, b, choice.column) || byName(a, b));
}

function hasAll({ namespace, name, state, phase, says }: PodRow, words: readonly string[]): boolean {
  const text = `${namespace}/${name} ${state} ${phase} ${says}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

function compare(a: PodRow, b: PodRow, column: Column): number {
  switch (column) {
    case 'name':
      return byName(a, b);
    case 'state':
      return order(a.state, b.state);
    case 'since':
      return (a.sinceMs ?? 0) - (b.sinceMs ?? 0);
    case 'restarts':
      return a.restarts - b.restarts;
  }
}

function byName(a: PodRow, b: PodRow): number {
  return order(a.namespace, b.namespace) || order(a.name, b.name);
}

const order = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/** How many pods are in each state, the most first. */
export function stateCounts(rows: Iterable<PodRow>): readonly (readonly [state: string, count: number])[] {
  const counts = new Map<string, number>();
  for (const { state } of rows) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].sort(([a, many], [b, more]) => more - many || order(a, b));
}

export const podLink = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string =>
  `#/pod/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;

/** A pod in this state is synced again from time to time, but waits for nothing. */
export const AT_REST = 'Syncing.Settled';

/** For the colour: at rest, at work, backing off, ending, over. */
export function kindOf(state: string): string {
  if (state.endsWith('BackingOff') || state.includes('Failing')) return 'trouble';
  if (state.startsWith('Terminated')) return 'over';
  if (state.startsWith('Terminating') || state === 'Syncing.Draining') return 'ending';
  if (state === AT_REST) return 'rest';
  return 'work';
}
