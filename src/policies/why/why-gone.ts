import type { CoreEvent } from '../../types/kubernetes.ts';
import { atApiTime } from './times.ts';
import type { Why } from './why-pod.ts';

export interface GoneFacts {
  readonly namespace: string;
  readonly name: string;
  /** About pods of this name, the oldest first. */
  readonly events: readonly CoreEvent[];
  readonly nowMs: number;
}

/** Reasons of events that say why a pod ended, rather than how. */
const CAUSES = ['Evicted', 'Preempting', 'ExceededGracePeriod', 'NodeShutdown', 'FailedValidation', 'OutOf'];

/** What is still known of a pod that is not here any more. Undefined where nothing is. */
export function whyGone({ namespace, name, events, nowMs }: GoneFacts): Why | undefined {
  const last = events.at(-1);
  if (last === undefined) return undefined;
  const cause = events.findLast(({ reason = '' }) => CAUSES.some((one) => reason.startsWith(one)));
  const told = [...new Set([...(cause ? [cause] : []), last])].map(
    ({ reason = '', message = '', lastTimestamp }) =>
      `${reason} at ${atApiTime(lastTimestamp, nowMs)}: ${message.replace(/[.\s]+$/u, '')}`,
  );
  return {
    subject: `${namespace}/${name}`,
    state: 'Gone',
    sentences: [
      `${namespace}/${name} is not on this node any more.`,
      `The last events about it: ${told.join('; ')}.`,
    ],
  };
}
