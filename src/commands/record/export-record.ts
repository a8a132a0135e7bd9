/** `statelet record export`: what is recorded of a pod, or of the node, in one file for a bug report. */
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { defaultRootDir, thisHost } from '../../config/config.ts';
import { podOfActor } from '../../policies/record/actor-names.ts';
import type { RecordEntry } from '../../policies/record/record-entry.ts';
import { RecordWriter } from '../../policies/record/record-format.ts';
import { recordFolder } from '../../server/record/flight-recorder.ts';
import { RecordFiles } from '../../server/record/read-record.ts';
import { errnoCode } from '../../system/system-errors.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import { ownVersion } from '../../version.ts';
import type { NamespaceFlags } from '../client/chosen-pod.ts';
import type { FolderFlags } from '../client/daemon-connection.ts';
import { chosenActors } from './chosen-actors.ts';
import { nothingRecorded, recordedEntries } from './recorded-entries.ts';

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
  const { what, wants } = chosenActors(pod, flags);
  const folder = resolve(recordFolder(flags.rootDir ?? defaultRootDir(thisHost())));
  const sinceMs = flags.since === undefined ? 0 : now() - flags.since;
  const copy = new RecordCopy(sinceMs);
  for await (const entry of recordedEntries(new RecordFiles(folder, { wants, sinceMs }), folder))
    copy.add(entry);
  const { lines, transitions } = copy.end();
  if (transitions === 0) throw nothingRecorded(folder, what, flags.since);
  const about = copy.podName ?? 'node';
  const path = resolve(flags.output ?? `${about.replace('/', '_')}.record`);
  await writeNew(path, `${lines}${endLine(about, transitions)}`);
  write(
    `${path}\n${transitions} transitions, without values of variables and secrets: look at it before you give it away\n`,
  );
}

/** The chosen transitions, session by session, with the names and pods that they need. */
class RecordCopy {
  readonly #sinceMs: number;
  #writer: RecordWriter | undefined;
  #lines = '';
  #transitions = 0;
  #latestMs = 0;
  podName: string | undefined;

  /** Sessions that end before are left out. */
  constructor(sinceMs: number) {
    this.#sinceMs = sinceMs;
  }

  add(entry: RecordEntry): void {
    if (entry.type === 'began') {
      this.#endSession();
      const { program, pid, node } = entry;
      this.#writer = new RecordWriter({ program, pid, node });
      this.#writer.begin(entry.atMs);
    }
    if (entry.type === 'lost') this.#writer?.lose(entry.count);
    if (entry.type !== 'transition') return;
    this.#writer?.copy(entry);
    this.#latestMs = entry.transition.atMs;
    const pod = podOfActor(entry.transition.actor);
    if (pod?.part === '') this.podName = `${pod.namespace}/${pod.name}`;
  }

  end(): { readonly lines: string; readonly transitions: number } {
    this.#endSession();
    return { lines: this.#lines, transitions: this.#transitions };
  }

  #endSession(): void {
    const { lines = '', count = 0 } = this.#writer?.take() ?? {};
    if (count === 0 || this.#latestMs < this.#sinceMs) return;
    this.#lines += lines;
    this.#transitions += count;
  }
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
