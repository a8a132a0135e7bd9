/** `statelet timeline`: the transitions of a pod, or of the node, as the flight recorder has them; a daemon need not run. */
import { resolve } from 'node:path';
import { rootFolder } from '../../agent/config/root-folder.ts';
import { figure } from '../../agent/policies/eviction/explanation-tables.ts';
import { figureText } from '../../agent/policies/eviction/pressure-settings.ts';
import { wholeQuantity } from '../../agent/policies/eviction/observations.ts';
import { oneLine } from '../../agent/policies/formats/terminal-text.ts';
import { podOfActor } from '../../recorder/policies/record-entry.ts';
import { recordedFigures } from '../../recorder/policies/recorded-figures.ts';
import type { RecordEntry } from '../../recorder/policies/record-reader.ts';
import { recordFolder } from '../../recorder/flight-recorder.ts';
import { RecordFiles } from '../../recorder/read-record.ts';
import { sleep, systemClock } from '../../system/timer.ts';
import type { Transition } from '../../types/transition.ts';
import type { NamespaceFlags } from '../client/chosen-pod.ts';
import type { FolderFlags } from '../client/daemon-connection.ts';
import { type ChosenActors, chosenActors, nothingRecorded, recordedEntries } from './recorded-entries.ts';
import { NEVER_ABORTED } from '../../system/promises.ts';

export interface TimelineFlags extends FolderFlags, NamespaceFlags {
  /** Milliseconds. */
  readonly since?: number;
  readonly follow?: boolean;
  readonly output?: 'json';
  /** Instead of the record of a root folder. */
  readonly file?: string;
}

export interface TimelineOptions {
  readonly write: (text: string) => void;
  readonly now?: () => number;
  /** Ends `--follow`. */
  readonly signal?: AbortSignal;
}

const POLL_MS = 200;
/** A file that was exported has what was chosen then. */
const ALL: ChosenActors = { what: 'any actor', wants: () => true };

/** Without a pod: of the node, or all that a file has; for `node`: of the node. Rejects with `NotFound` where nothing is recorded of it. */
export async function timeline(
  pod: string | undefined,
  flags: TimelineFlags,
  { write, now = Date.now, signal = NEVER_ABORTED }: TimelineOptions,
): Promise<void> {
  const path = resolve(flags.file ?? recordFolder(rootFolder(flags.rootDir).path));
  const { what, wants } =
    pod === undefined && flags.file !== undefined ? ALL : chosenActors(pod ?? 'node', flags);
  const sinceMs = flags.since === undefined ? 0 : now() - flags.since;
  const files = new RecordFiles(path, { wants, sinceMs: flags.file === undefined ? sinceMs : 0 });
  const shown = flags.output === 'json' ? jsonLine : textOf(new TimelineText());
  let isEmpty = true;
  for (;;) {
    for await (const entry of recordedEntries(files, path)) {
      if ('atMs' in entry && entry.atMs < sinceMs) continue;
      if (entry.type === 'transition' && entry.transition.atMs < sinceMs) continue;
      if (entry.type === 'transition') isEmpty = false;
      const text = shown(entry);
      if (text !== '') write(text);
    }
    if (flags.follow !== true) break;
    await sleep(systemClock, POLL_MS, signal).catch(() => undefined);
    if (signal.aborted) return;
  }
  if (isEmpty) throw nothingRecorded(path, what, flags.since);
}

function textOf(text: TimelineText): (entry: RecordEntry) => string {
  return (entry) => text.of(entry);
}

function jsonLine(entry: RecordEntry): string {
  const { type, ...facts } =
    entry.type === 'transition'
      ? { type: entry.type, ...entry.transition, ...(entry.isCut && { isCut: true }) }
      : entry;
  const at = 'atMs' in facts ? { time: new Date(facts.atMs).toISOString() } : {};
  return `${JSON.stringify({ type, ...at, ...facts })}\n`;
}

const CHART_WIDTH = 10;

const EVENT_WIDTH = 15;

/** A line for each entry of the flight recorder, in the notation of the charts: `event: from → to [guard] / actions`. */
export class TimelineText {
  /** What is said before the next transition. */
  #before: string[] = [];
  #uid = '';

  of(entry: RecordEntry): string {
    switch (entry.type) {
      case 'began':
        this.#before = [
          line(
            `${timeOf(entry.atMs)}  --- statelet ${entry.program} records, process ${entry.pid}, node ${entry.node}`,
          ),
        ];
        return '';
      case 'lost':
        return line(
          `${timeOf(entry.atMs)}  --- ${entry.count} transitions before this are missing: the disk was full or too slow`,
        );
      case 'unknown':
        return line(
          `--- the record of a newer Statelet follows (format ${entry.version}), which this one cannot read`,
        );
      case 'transition':
        return this.#transition(entry.transition);
    }
  }

  #transition(transition: Transition): string {
    const { atMs, chart, actor, event, from, to, guard, actions } = transition;
    const pod = podOfActor(actor);
    if (pod !== undefined && pod.uid !== this.#uid) {
      this.#uid = pod.uid;
      this.#before.push(line(`${timeOf(atMs)}  --- pod ${pod.namespace}/${pod.name}, UID ${pod.uid}`));
    }
    const before = this.#before.join('');
    this.#before = [];
    const way = from === to ? to : `${from} → ${to}`;
    const decided = guard === undefined ? '' : ` [${guard}]`;
    const done = actions.length === 0 ? '' : ` / ${actions.join(', ')}`;
    const who = pod === undefined || chart === 'pod' ? nodeActor(chart, actor) : `${chart} ${pod.part}`;
    const columns = [timeOf(atMs), who.padEnd(CHART_WIDTH), event.padEnd(EVENT_WIDTH), way];
    return before + line(columns.join('  ') + decided + done + leftText(transition));
  }
}

/** Of a look for eviction: ` (memory.available 17.1Gi, pid.available 31996)`, where they have changed noticeably. */
function leftText(transition: Transition): string {
  const figures = recordedFigures(transition).map(({ signal, left }) => {
    const quantity = wholeQuantity(BigInt(Math.trunc(left)), 'BinarySI');
    return `${signal} ${figure(signal, figureText(signal, quantity))}`;
  });
  return figures.length === 0 ? '' : ` (${figures.join(', ')})`;
}

/** A record may be a file of others: nothing in it makes a second line. */
function line(text: string): string {
  return `${oneLine(text)}\n`;
}

/** `plugin` has several actors, `eviction` one. */
function nodeActor(chart: string, actor: string): string {
  return chart === 'plugin' || chart === 'certificate' ? actor : chart;
}

/** In UTC, with milliseconds. */
function timeOf(unixMs: number): string {
  return new Date(unixMs).toISOString();
}
