/** `statelet record export`: what is recorded of a pod, or of the node, in one file for a bug report. */
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { rootFolder } from '../../agent/config/root-folder.ts';
import type { WantsActor } from '../../recorder/policies/record-reader.ts';
import { recordFolder } from '../../recorder/flight-recorder.ts';
import { RecordFiles } from '../../recorder/read-record.ts';
import { errnoCode } from '../../system/system-errors.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import { ownVersion } from '../../version.ts';
import type { NamespaceFlags } from '../client/chosen-pod.ts';
import type { FolderFlags } from '../client/daemon-connection.ts';
import { chosenActors, nothingRecorded, ofNode, recordedEntries } from './recorded-entries.ts';
import { NamingTransitions, RecordCopy } from './record-copy.ts';

export interface ExportFlags extends FolderFlags, NamespaceFlags {
  readonly output?: string;
  /** Milliseconds. */
  readonly since?: number;
}

/** Only its owner may read it: it names pods, images' problems and addresses. */
const FILE_MODE = 0o600;

/** Rejects with `NotFound` where nothing is recorded of it. */
export async function exportRecord(
  pod: string,
  flags: ExportFlags,
  write: (text: string) => void,
  now: () => number = Date.now,
): Promise<void> {
  const { what, wants, pod: named } = chosenActors(pod, flags);
  const folder = recordFolder(rootFolder(flags.rootDir).path);
  const sinceMs = flags.since === undefined ? 0 : now() - flags.since;
  const copy = new RecordCopy(sinceMs, named && new NamingTransitions(named));
  const read: WantsActor = (actor, node) => wants(actor, node) || ofNode(actor, node);
  const files = new RecordFiles(folder, { wants: named === undefined ? wants : read, sinceMs });
  for await (const entry of recordedEntries(files, folder)) copy.add(entry);
  const { lines, transitions, ofOthers } = copy.end();
  if (transitions === 0) throw nothingRecorded(folder, what, flags.since);
  const about = copy.podName ?? (named === undefined ? 'node' : `${named.namespace}/${named.name}`);
  const path = resolve(flags.output ?? `${about.replace('/', '_')}.record`);
  await writeNew(path, `${lines}${endLine(about, transitions)}`);
  const others = ofOthers === 0 ? '' : `, ${ofOthers} of them of charts of the node that name the pod`;
  write(
    `${path}\n${transitions} transitions${others}, without values of variables and secrets: look at it before you give it away\n`,
  );
}

function endLine(about: string, transitions: number): string {
  const by = `statelet ${ownVersion()}`;
  return `${JSON.stringify({ export: about, by, transitions, read: 'statelet timeline --file, statelet replay' })}\n`;
}

async function writeNew(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { flag: 'wx', mode: FILE_MODE });
  } catch (error) {
    if (errnoCode(error) === 'EEXIST')
      throw new StateletError('AlreadyExists', `${path} exists: name another file with --output`);
    throw new StateletError('InvalidArgument', `cannot write ${path}: ${errorMessage(error)}`, {
      cause: error,
    });
  }
}
