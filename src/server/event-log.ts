import type { EventFacts } from '../policies/status/event-correlation.ts';
import type { EventRecorder, NodeEventRecorder } from '../types/event-recorder.ts';
import { type Logger, podFields } from '../types/logger.ts';
import { EventCorrelator } from './event-correlator.ts';
import { RecentMap } from './recent-map.ts';

/** A warning that goes on is told again after this time, however often it has been told. */
const REMIND_MS = 10 * 60_000;
const REMEMBERED_MAX = 4_096;
const SOURCE = { component: 'statelet', host: '' };

type About = Pick<EventFacts, 'object' | 'reason'>;

/**
 * Kubernetes events as log lines, the only ones that have a `reason`. A warning that repeats itself is told again each time that it
 * has come twice as often, with its count, and is for debugging otherwise. `now` is Unix milliseconds.
 */
export function eventLog(logger: Logger, now: () => number): EventRecorder & NodeEventRecorder {
  const correlator = new EventCorrelator();
  const toldAt = new RecentMap<string, number>(REMEMBERED_MAX);
  const warn = ({ object, reason }: About, fields: object, text: string): void => {
    const at = now();
    const facts = { source: SOURCE, object, type: 'Warning' as const, reason, message: text };
    const { key, count, message, isSpam } = correlator.correlate(facts, at);
    const isDue = at - (toldAt.get(key) ?? -Infinity) >= REMIND_MS || (!isSpam && isPowerOfTwo(count));
    if (isDue) toldAt.set(key, at);
    const shown = { ...fields, ...(count > 1 && { count }) };
    if (isDue) logger.warn(shown, message);
    else logger.debug(shown, message);
  };
  const log = (type: 'Normal' | 'Warning', about: About, fields: object, message: string): void => {
    // What goes well happens again and again, and is news each time.
    if (type === 'Normal') logger.info(fields, message);
    else warn(about, fields, message);
  };
  return {
    event: (pod, type, reason, message, about) => {
      const { uid, name, namespace } = pod;
      const fieldPath = about && `spec.containers{${about.container}}`;
      const object = { kind: 'Pod', namespace, name, uid, ...(fieldPath !== undefined && { fieldPath }) };
      log(type, { object, reason }, { ...podFields(pod), reason, ...about }, message);
    },
    nodeEvent: (type, reason, message) =>
      log(type, { object: { kind: 'Node', name: '' }, reason }, { reason }, message),
  };
}

function isPowerOfTwo(count: number): boolean {
  return Number.isInteger(Math.log2(count));
}
