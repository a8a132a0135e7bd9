import { answerTo, type Question, within } from './chance.ts';
import type { EventFaults } from './call-faults.ts';
import type { Range } from './latencies.ts';

/** When and how often an event is sent. */
export interface EventPlan {
  /** Undefined: it is lost. */
  readonly delayMs: number | undefined;
  /** It is sent after all earlier events of its pod. */
  readonly inOrder: boolean;
  /** When it is sent a second time; undefined: it is not. */
  readonly againAfterMs: number | undefined;
}

const LATENESS_MS: Range = [1000, 30_000];
const OVERTAKEN_MS: Range = [1, 500];
const AGAIN_MS: Range = [0, 2000];
const NO_LATENCY: Range = [0, 0];

/** `value` decides everything that is left to chance. */
export function planEvent(
  faults: EventFaults | undefined,
  latency: Range | undefined,
  value: number,
): EventPlan {
  const happens = (question: Question & keyof EventFaults): boolean =>
    answerTo(question, value) < (faults?.[question] ?? 0);
  const againAfterMs = happens('doubled') ? within(AGAIN_MS, answerTo('again', value)) : undefined;
  if (happens('lost')) return { delayMs: undefined, inOrder: false, againAfterMs };
  const delayMs = within(latency ?? NO_LATENCY, answerTo('latency', value));
  if (happens('late')) {
    return {
      delayMs: delayMs + within(LATENESS_MS, answerTo('lateness', value)),
      inOrder: false,
      againAfterMs,
    };
  }
  if (happens('reordered')) {
    return {
      delayMs: delayMs + within(OVERTAKEN_MS, answerTo('overtaken', value)),
      inOrder: false,
      againAfterMs,
    };
  }
  return { delayMs, inOrder: true, againAfterMs };
}
