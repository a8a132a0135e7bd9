/** `statelet timeline`: the transitions of a pod, or of the node, as the flight recorder has them; a daemon need not run. */
import { resolve } from 'node:path';
import { podOfActor } from '../../policies/record/actor-names.ts';
import type { RecordEntry, WantsActor } from '../../policies/record/record-reader.ts';
import { recordFolder } from '../../server/record/flight-recorder.ts';
import { RecordFiles } from '../../server/record/read-record.ts';
import { sleep } from '../../system/sleep.ts';
import { systemClock } from '../../system/system-clock.ts';
import { errnoCode } from '../../system/system-errors.ts';
import { StateletError } from '../../types/errors.ts';
import { defaultRootDir, thisHost } from '../../config/config.ts';
import { type NamespaceFlags, parsePodName, type PodName } from '../client/chosen-pod.ts';
import type { FolderFlags } from '../client/daemon-connection.ts';
import { TimelineText } from './timeline-text.ts';

export interface TimelineFlags extends FolderFlags, NamespaceFlags {
  /** Milliseconds. */
  readonly since?: number;
  readonly follow?: boolean;
  readonly output?: 'json';
}

export interface TimelineOptions {
  readonly write: (text: string) => void;
  readonly now?: () => number;
  /** Ends `--follow`. */
  readonly signal?: AbortSignal;
}

const POLL_MS = 200;

/** Without a pod, or for `node`: of the node. Rejects with `NotFound` where nothing is recorded of it. */
export async function timeline(
  pod: string | undefined,
  flags: TimelineFlags,
  { write, now = Date.now, signal = new AbortController().signal }: TimelineOptions,
): Promise<void> {
  const folder = recordFolder(resolve(flags.rootDir ?? defaultRootDir(thisHost())));
  const name = pod === undefined || pod === 'node' ? undefined : parsePodName(pod, flags);
  const sinceMs = flags.since === undefined ? 0 : now() - flags.since;
  const files = new RecordFiles(folder, { wants: name ? ofPod(name) : ofNode, sinceMs });
  const shown = flags.output === 'json' ? jsonLine : textOf(new TimelineText());
  let isEmpty = true;
  for (;;) {
    for await (const entry of reading(files, folder)) {
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
  if (isEmpty) throw nothingOf(name, folder, flags);
}

async function* reading(files: RecordFiles, folder: string): AsyncGenerator<RecordEntry, undefined> {
  try {
    yield* files.read();
  } catch (error) {
    const code = errnoCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR')
      throw new StateletError(
        'NotFound',
        `nothing is recorded: there is no ${folder}\ngive the --root-dir that the daemon was started with`,
      );
    if (code === 'EACCES')
      throw new StateletError(
        'PermissionDenied',
        `${folder} belongs to another user: run this command as the user of the daemon`,
      );
    throw error;
  }
}

/** A static pod is also found without the name of its node. */
function ofPod({ namespace = 'default', name }: PodName): WantsActor {
  return (actor, node) => {
    const pod = podOfActor(actor);
    if (pod?.namespace !== namespace) return false;
    return pod.name === name || pod.name === `${name}-${node.toLowerCase()}`;
  };
}

/** With those who decide about pods for the whole node. */
const ofNode: WantsActor = (actor) =>
  /^(?:preemption|pod-kill) /u.test(actor) || podOfActor(actor) === undefined;

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

function nothingOf(pod: PodName | undefined, folder: string, { since }: TimelineFlags): StateletError {
  const { namespace = 'default', name } = pod ?? { name: '' };
  const whose = pod === undefined ? 'the node' : `a pod "${name}" in namespace ${namespace}`;
  const when = since === undefined ? '' : ' of that time';
  return new StateletError('NotFound', `${folder} has nothing${when} about ${whose}`);
}
