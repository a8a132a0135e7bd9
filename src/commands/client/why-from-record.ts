/** The answer to why a pod is as it is where no daemon runs: from the record that the last one has left. */
import { rootFolder } from '../../agent/config/root-folder.ts';
import { type RecordedPod, whyGone } from '../../agent/policies/why/why-gone.ts';
import type { Why } from '../../agent/policies/why/why-pod.ts';
import { recordFolder } from '../../recorder/flight-recorder.ts';
import { recordOfPod, recordEnd } from '../../recorder/recorded-end.ts';
import { errnoCode } from '../../system/system-errors.ts';
import { StateletError } from '../../types/errors.ts';
import { ofAnotherUser } from '../record/recorded-entries.ts';
import type { PodName } from './chosen-pod.ts';
import type { FolderFlags } from './daemon-connection.ts';

/** Undefined where there is no record. Rejects with `NotFound` where it has nothing of the pod. */
export async function whyFromRecord(
  { namespace = 'default', name }: PodName,
  { rootDir }: FolderFlags,
): Promise<Why | undefined> {
  const folder = recordFolder(rootFolder(rootDir).path);
  const { endMs, recorded } = await readRecord(folder, { namespace, name });
  if (endMs === undefined) return undefined;
  const facts = { namespace, name, events: [], recorded, recordEndMs: endMs, nowMs: Date.now() };
  const answer = whyGone(facts);
  if (answer !== undefined) return answer;
  const what = `a pod "${name}" in namespace ${namespace}`;
  throw new StateletError(
    'NotFound',
    `no daemon runs, and its record in ${folder} has nothing about ${what}`,
  );
}

interface ReadRecord {
  readonly endMs: number | undefined;
  readonly recorded: RecordedPod | undefined;
}

async function readRecord(
  folder: string,
  pod: { readonly namespace: string; readonly name: string },
): Promise<ReadRecord> {
  try {
    return { endMs: await recordEnd(folder), recorded: await recordOfPod(folder, pod) };
  } catch (error) {
    if (errnoCode(error) !== 'EACCES') throw error;
    throw ofAnotherUser(folder);
  }
}
