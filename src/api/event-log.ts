import type { EventRecorder, NodeEventRecorder } from '../types/event-recorder.ts';
import { type Logger, podFields } from '../types/logger.ts';

/** For how long an event that comes again is not news (the kubelet's event aggregator). */
const REPEAT_MS = 10 * 60_000;
/** How many events are remembered; beyond that the oldest is news again. */
const REMEMBERED_MAX = 4_096;

/** Kubernetes events as log lines. One that repeats itself is for debugging. `now` is Unix milliseconds. */
export function eventLog(logger: Logger, now: () => number): EventRecorder & NodeEventRecorder {
  const seen = new Map<string, number>();
  const isRepeated = (key: string): boolean => {
    const before = seen.get(key);
    const oldest = seen.keys().next();
    if (seen.size >= REMEMBERED_MAX && !oldest.done) seen.delete(oldest.value);
    seen.set(key, now());
    return before !== undefined && now() - before < REPEAT_MS;
  };
  const log = (about: string, type: 'Normal' | 'Warning', fields: object, message: string): void => {
    // What goes well happens again and again, and is news each time.
    if (type === 'Normal') logger.info(fields, message);
    else if (isRepeated(`${about} ${message}`)) logger.debug(fields, message);
    else logger.warn(fields, message);
  };
  return {
    event: (pod, type, reason, message) =>
      log(`${pod.uid} ${reason}`, type, { ...podFields(pod), reason }, message),
    nodeEvent: (type, reason, message) => log(`node ${reason}`, type, { reason }, message),
  };
}
