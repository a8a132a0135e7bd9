/** What a replay has found, for people: each difference once, however often it comes. */
import { oneLine } from '../../policies/formats/terminal-text.ts';
import type { Deed, Difference } from '../../replay/replayed-actor.ts';
import type { ReplayCounts } from '../../replay/replay.ts';

interface Found {
  readonly first: Difference;
  readonly actors: Set<string>;
  count: number;
}

export class DifferenceText {
  readonly #found = new Map<string, Found>();

  add(difference: Difference): void {
    const { chart, event, from, recorded, now, error } = difference;
    const key = JSON.stringify([chart, event, from, recorded, now, error]);
    const found = this.#found.get(key) ?? { first: difference, actors: new Set(), count: 0 };
    found.actors.add(difference.actor);
    found.count += 1;
    this.#found.set(key, found);
  }

  text(): string {
    return [...this.#found.values()].map(textOf).join('');
  }
}

function textOf({ first, actors, count }: Found): string {
  const { atMs, chart, actor, event, from, recorded, now, error } = first;
  const again = count === 1 ? '' : `, and ${count - 1} more like it, of ${actors.size} in all`;
  const acted = recorded === undefined ? 'nothing more' : deedText(recorded);
  const acts = error === undefined ? now && deedText(now) : `fails: ${error}`;
  return [
    `${new Date(atMs).toISOString()}  ${chart}  ${actor}${again}`,
    `  ${event} in ${from}`,
    `  recorded  ${acted}`,
    `  now       ${acts ?? 'nothing'}`,
  ]
    .map((line) => `${oneLine(line)}\n`)
    .join('');
}

function deedText({ from, to, guard, actions }: Deed): string {
  const way = from === to ? `stays in ${to}` : `→ ${to}`;
  const decided = guard === undefined ? '' : ` [${guard}]`;
  return `${way}${decided}${actions.length === 0 ? '' : ` / ${actions.join(', ')}`}`;
}

/** `12 actors, 345 transitions: no difference`. */
export function summaryText({ actors, transitions, differences, notReplayed }: ReplayCounts): string {
  const found = differences === 0 ? 'no difference' : counted(differences, 'difference');
  const summary = `${counted(actors, 'actor')}, ${counted(transitions, 'transition')}: ${found}`;
  if (notReplayed.size === 0) return summary;
  const reasons = Array.from(notReplayed, ([why, count]) => `${count} (${why})`);
  return `${summary}; not replayed: ${reasons.join(', ')}`;
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
