/** The newest transitions of some actors in the flight recorder's files, for an agent that goes on with its work meanwhile. */
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { RecordReader, type WantsActor } from './policies/record-reader.ts';
import { ifThere } from '../system/system-errors.ts';
import type { Transition } from '../types/transition.ts';
import { segmentNames } from './segment-ring.ts';
import { WholeLines } from './read-record.ts';

export interface HistoryOptions {
  /** Transitions of other actors are left out. */
  readonly wants: WantsActor;
  /** At most so many, the newest. */
  readonly limit: number;
  /** None from before that time, in Unix milliseconds. */
  readonly sinceMs?: number;
  /** None from after that time. */
  readonly untilMs?: number;
  /** Of the wanted actors, only these transitions. */
  readonly keeps?: (transition: Transition) => boolean;
}

/** So much is read at a time: it takes the event loop some milliseconds. */
const CHUNK_BYTES = 2 ** 16;
/** The beginnings of lines that show whether a file has anything about an actor. */
const NAMES_ACTOR = '{"actor":';
const NAMES_NODE = '{"record":';

/**
 * The oldest first. The newest files are read first, and no more of them than needed. Empty where there is no folder; rejects with the
 * system's error where it cannot be read.
 */
export async function recordedHistory(
  folder: string,
  options: HistoryOptions,
): Promise<readonly Transition[]> {
  const { limit, sinceMs = 0 } = options;
  const names = (await ifThere(segmentNames(folder))) ?? [];
  let found: readonly Transition[] = [];
  for (const name of names.toReversed()) {
    // The oldest file may be deleted meanwhile.
    const file = await ifThere(open(join(folder, name), 'r'));
    if (file === undefined) continue;
    try {
      if ((await file.stat()).mtimeMs < sinceMs) break;
      if (await isAboutWanted(file, options)) found = [...(await newestOf(file, options)), ...found];
    } finally {
      await file.close();
    }
    if (found.length >= limit) break;
  }
  return found.slice(Math.max(0, found.length - limit));
}

/** Reading names alone is many times as fast as reading all transitions, and most files have nothing about a given pod. */
async function isAboutWanted(file: FileHandle, options: HistoryOptions): Promise<boolean> {
  const { wants, untilMs = Infinity } = options;
  const found = new Set<string>();
  const reader = new RecordReader((actor, node) => {
    if (wants(actor, node)) found.add(actor);
    return false;
  });
  for await (const text of linesOf(file)) {
    for (const line of linesThatBegin(text, [NAMES_NODE, NAMES_ACTOR])) {
      const entry = reader.read(line);
      if (entry?.type === 'began' && entry.atMs > untilMs) return found.size > 0;
    }
    if (found.size > 0) return true;
  }
  return false;
}

async function newestOf(
  file: FileHandle,
  { wants, limit, sinceMs = 0, untilMs = Infinity, keeps = () => true }: HistoryOptions,
): Promise<readonly Transition[]> {
  const reader = new RecordReader(wants);
  let found: Transition[] = [];
  for await (const text of linesOf(file)) {
    for (const line of text.split('\n')) {
      const entry = reader.read(line);
      if (entry?.type !== 'transition') continue;
      const { transition } = entry;
      const isOfTime = transition.atMs >= sinceMs && transition.atMs <= untilMs;
      if (isOfTime && keeps(transition)) found.push(transition);
    }
    if (found.length > 2 * limit) found = found.slice(-limit);
  }
  return found;
}

/** Some thousand lines at a time, so that the event loop does other work in between. A last line that has no end is left out. */
async function* linesOf(file: FileHandle): AsyncGenerator<string, undefined> {
  for await (const text of new WholeLines(CHUNK_BYTES).read(file)) {
    yield text;
    await nextTurn();
  }
}

/** In their order. */
function linesThatBegin(text: string, beginnings: readonly string[]): readonly string[] {
  const starts = beginnings.flatMap((beginning) => startsOf(text, beginning));
  return starts.sort((a, b) => a - b).map((start) => text.slice(start, text.indexOf('\n', start)));
}

function startsOf(text: string, beginning: string): readonly number[] {
  const starts: number[] = [];
  for (let at = text.indexOf(beginning); at >= 0; at = text.indexOf(beginning, at + 1))
    if (at === 0 || text[at - 1] === '\n') starts.push(at);
  return starts;
}
