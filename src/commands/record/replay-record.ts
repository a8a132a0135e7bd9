/** `statelet replay`: runs the charts of this version through a record, and says where they act differently. */
import { resolve } from 'node:path';
import { machines } from '../../agent/machines/index.ts';
import { oneLine } from '../../agent/policies/formats/terminal-text.ts';
import type { ReplayedStep, Difference } from '../../recorder/replay/replayed-actor.ts';
import { Replay, type ReplayCounts } from '../../recorder/replay/replay.ts';
import { RecordFiles } from '../../recorder/read-record.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import type { NamespaceFlags } from '../client/chosen-pod.ts';
import { chosenActors } from './recorded-entries.ts';

export interface ReplayFlags extends NamespaceFlags {
  readonly output?: 'json';
}

/** Rejects with `FailedPrecondition` where something differs, and with `InvalidArgument` where there is no record to replay. */
export async function replayRecord(
  file: string,
  pod: string | undefined,
  flags: ReplayFlags,
  write: (text: string) => void,
): Promise<void> {
  const path = resolve(file);
  const chosen = pod === undefined ? undefined : chosenActors(pod, flags);
  const files = new RecordFiles(path, chosen ? { wants: chosen.wants } : {});
  const replay = new Replay(machines);
  const text = new DifferenceText();
  const show = (differences: ReturnType<Replay['end']>) => {
    for (const difference of differences)
      if (flags.output === 'json') write(jsonOf('difference', difference));
      else text.add(difference);
  };
  try {
    for await (const entry of files.read()) show(replay.read(entry));
  } catch (error) {
    throw new StateletError('InvalidArgument', `cannot read ${path}: ${errorMessage(error)}`, {
      cause: error,
    });
  }
  show(replay.end());
  const counts = replay.counts();
  if (counts.transitions === 0) throw nothingToReplay(path, chosen?.what);
  write(text.text());
  write(flags.output === 'json' ? summaryJson(counts) : `${summaryText(counts)}\n`);
  if (counts.differences > 0)
    throw new StateletError('FailedPrecondition', 'the charts of this version act differently');
}

function nothingToReplay(path: string, what: string | undefined): StateletError {
  const wrong = what === undefined ? 'no record of transitions' : `nothing about ${what}`;
  const hint = 'a record is a file of `statelet record export`, or the folder ROOT/record of a daemon';
  return new StateletError('InvalidArgument', `${path} has ${wrong}\n${hint}`);
}

function summaryJson({ notReplayed, ...counts }: ReplayCounts): string {
  return jsonOf('summary', { ...counts, notReplayed: Object.fromEntries(notReplayed) });
}

function jsonOf(type: string, facts: object): string {
  const time = 'atMs' in facts ? { time: new Date(Number(facts.atMs)).toISOString() } : {};
  return `${JSON.stringify({ type, ...time, ...facts })}\n`;
}

interface Found {
  readonly first: Difference;
  readonly actors: Set<string>;
  count: number;
}

/** What a replay has found, for people: each difference once, with how often it came. */
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
  const acted = recorded === undefined ? 'nothing more' : stepText(recorded);
  const acts = error === undefined ? now && stepText(now) : `fails: ${error}`;
  return [
    `${new Date(atMs).toISOString()}  ${chart}  ${actor}${again}`,
    `  ${event} in ${from}`,
    `  recorded  ${acted}`,
    `  now       ${acts ?? 'nothing'}`,
  ]
    .map((line) => `${oneLine(line)}\n`)
    .join('');
}

function stepText({ from, to, guard, actions }: ReplayedStep): string {
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
