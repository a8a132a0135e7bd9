/** What the flight recorder has of the end of a pod. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { podOfActor, servesPodOf } from './policies/record-entry.ts';
import { choiceQuestion, recordedChoice } from './policies/recorded-choice.ts';
import { recordedLife } from './policies/recorded-life.ts';
import type { RecordedPod } from '../agent/policies/why/why-gone.ts';
import { ifThere } from '../system/system-errors.ts';
import { recordedHistory } from './recorded-history.ts';
import { segmentNames } from './segment-ring.ts';

/** Of one pod's chart: enough for the lives of one that has come back some times. */
const OWN_MAX = 2_000;
const OTHERS_MAX = 1_000;

/** Undefined where nothing is recorded of a pod of that name. Rejects with the system's error where the record cannot be read. */
export async function recordOfPod(
  folder: string,
  named: { readonly namespace: string; readonly name: string },
): Promise<RecordedPod | undefined> {
  const own = await recordedHistory(folder, {
    limit: OWN_MAX,
    wants: (actor, node) => {
      const pod = podOfActor(actor);
      return servesPodOf(pod, named, node) && pod.part === '';
    },
  });
  const life = recordedLife(own);
  const question = life && choiceQuestion(life);
  if (life === undefined || question === undefined) return life && { life, choice: undefined };
  const near = await recordedHistory(folder, { ...question, limit: OTHERS_MAX });
  const { cause, choice } = recordedChoice(life, near) ?? {};
  const end = life.end && { ...life.end, ...(cause && { cause }) };
  return { life: { ...life, end }, choice };
}

/** When the record was last written to, in Unix milliseconds; undefined where there is none. */
export async function recordEnd(folder: string): Promise<number | undefined> {
  const names = (await ifThere(segmentNames(folder))) ?? [];
  const last = names.at(-1);
  return last === undefined ? undefined : (await ifThere(stat(join(folder, last))))?.mtimeMs;
}
