/** Entries of a record, with errors that say what would be right. */
import { podOfActor, servesPodOf } from '../../recorder/policies/record-entry.ts';
import type { RecordEntry, WantsActor } from '../../recorder/policies/record-reader.ts';
import type { RecordFiles } from '../../recorder/read-record.ts';
import { errnoCode } from '../../system/system-errors.ts';
import { StateletError } from '../../types/errors.ts';
import { type NamespaceFlags, parsePodName } from '../client/chosen-pod.ts';

/** `path`: what `files` reads. */
export async function* recordedEntries(
  files: RecordFiles,
  path: string,
): AsyncGenerator<RecordEntry, undefined> {
  try {
    yield* files.read();
  } catch (error) {
    const code = errnoCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR')
      throw new StateletError(
        'NotFound',
        `nothing is recorded: there is no ${path}\ngive the --root-dir that the daemon was started with`,
      );
    if (code === 'EACCES') throw ofAnotherUser(path);
    throw error;
  }
}

export function ofAnotherUser(path: string): StateletError {
  return new StateletError(
    'PermissionDenied',
    `${path} belongs to another user: run this command as the user of the daemon`,
  );
}

/** `what`: `the node`, `a pod "web" in namespace default`. `since`: where only what is younger was wanted. */
export function nothingRecorded(path: string, what: string, since: number | undefined): StateletError {
  const when = since === undefined ? '' : ' of that time';
  return new StateletError('NotFound', `${path} has nothing${when} about ${what}`);
}

/** The actors whose transitions a command wants: those of a pod, or of the node. */
export interface ChosenActors {
  /** `the node`, `a pod "web" in namespace default`. */
  readonly what: string;
  readonly wants: WantsActor;
  /** Undefined for the node. */
  readonly pod?: { readonly namespace: string; readonly name: string };
}

/** `node`: those of the node. */
export function chosenActors(text: string, flags: NamespaceFlags): ChosenActors {
  if (text === 'node') return { what: 'the node', wants: ofNode };
  const { namespace = 'default', name } = parsePodName(text, flags);
  const wants: WantsActor = (actor, node) => servesPodOf(podOfActor(actor), { namespace, name }, node);
  return { what: `a pod "${name}" in namespace ${namespace}`, wants, pod: { namespace, name } };
}

/** The node's actors decide about pods, too. */
export const ofNode: WantsActor = (actor) =>
  /^(?:preemption|pod-kill) /u.test(actor) || podOfActor(actor) === undefined;
