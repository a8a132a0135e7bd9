import { EventCorrelator, type EventFacts } from '../policies/cluster/event-correlation.ts';
import { podEventObject } from '../policies/cluster/event-object.ts';
import { RecentMap } from '../policies/formats/lookups.ts';
import type { EventRecorder, NodeEventRecorder } from '../../types/event-recorder.ts';
import { type Logger, podFields } from '../../types/logger.ts';

/** A repeated warning is logged at least this often. */
const REMIND_MS = 10 * 60_000;
const REMEMBERED_MAX = 4_096;
const SOURCE = { component: 'statelet', host: '' };

type EventKind = Pick<EventFacts, 'object' | 'reason'>;

/**
 * Logs Kubernetes events; only these log lines have a `reason`. A repeated warning is logged when its count doubles, and at debug
 * level otherwise. `now` is Unix milliseconds.
 */
export function eventLog(logger: Logger, now: () => number): EventRecorder & NodeEventRecorder {
  const correlator = new EventCorrelator();
  const loggedAt = new RecentMap<string, number>(REMEMBERED_MAX);
  const warn = ({ object, reason }: EventKind, fields: object, text: string): void => {
    const at = now();
    const facts = { source: SOURCE, object, type: 'Warning' as const, reason, message: text };
    const { key, count, message, isSpam } = correlator.correlate(facts, at);
    const isDue = at - (loggedAt.get(key) ?? -Infinity) >= REMIND_MS || (!isSpam && isPowerOfTwo(count));
    if (isDue) loggedAt.set(key, at);
    const shown = { ...fields, ...(count > 1 && { count }) };
    if (isDue) logger.warn(shown, message);
    else logger.debug(shown, message);
  };
  const log = (type: 'Normal' | 'Warning', kind: EventKind, fields: object, message: string): void => {
    // Normal events are logged each time.
    if (type === 'Normal') logger.info(fields, message);
    else warn(kind, fields, message);
  };
  return {
    event: (pod, type, reason, message, about) => {
      const object = podEventObject(pod, about?.container);
      log(type, { object, reason }, { ...podFields(pod), reason, ...about }, message);
    },
    nodeEvent: (type, reason, message) =>
      log(type, { object: { kind: 'Node', name: '' }, reason }, { reason }, message),
  };
}

function isPowerOfTwo(count: number): boolean {
  return Number.isInteger(Math.log2(count));
}
