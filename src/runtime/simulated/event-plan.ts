import { answerTo, type Question, within } from './chance.ts';
import type { EventFaults } from './call-faults.ts';
import type { Range } from './latencies.ts';

/** How a client hears of an event. */
export interface EventPlan {
  /** Undefined: not at all. */
  readonly delayMs: number | undefined;
  /** Not before what happened to the same pod earlier. */
  readonly inOrder: boolean;
  /** A second time. */
  readonly againAfterMs: number | undefined;
}

const LATENESS_MS: Range = [1000, 30_000];
const OVERTAKEN_MS: Range = [1, 500];
const AGAIN_MS: Range = [0, 2000];
const NO_LATENCY: Range = [0, 0];

/** `value` decides all that is left to chance. */
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
