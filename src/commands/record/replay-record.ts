/** `statelet replay`: runs the charts of this version through a record, and says where they act differently. */
import { resolve } from 'node:path';
import { machines } from '../../machines/index.ts';
import { Replay, type ReplayCounts } from '../../replay/replay.ts';
import { RecordFiles } from '../../server/record/read-record.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import type { NamespaceFlags } from '../client/chosen-pod.ts';
import { chosenActors } from './chosen-actors.ts';
import { DifferenceText, summaryText } from './difference-text.ts';

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
