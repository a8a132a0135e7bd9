/**
 * The clock of the machine beside that of the API server. Times in statuses, leases and certificates are by either one: where they differ much,
 * a pod seems to have started in the future, and certificates and tokens are taken for expired.
 */
import { shortDuration } from '../formats/duration.ts';

/** What people notice. Answers carry whole seconds, and clocks that nobody keeps are off by some seconds. */
const SAID_FROM_MS = 60_000;
/** What `Date` leaves out. */
const SECOND_MS = 1000;

export interface AnswerTimes {
  /** By the clock of this machine, in Unix milliseconds: when the request was sent, and when the head of its answer came. */
  readonly askedMs: number;
  readonly gotMs: number;
  /** What the server says of the time of its answer: the header `Date`, or when it made the object. */
  readonly date: string | readonly string[] | undefined;
}

/** By how much the clock of this machine is ahead of the server's at least; negative: behind. 0 where none shows. */
export function clockDifferenceMs({ askedMs, gotMs, date }: AnswerTimes): number {
  const serverMs = typeof date === 'string' ? Date.parse(date) : NaN;
  if (askedMs > serverMs + SECOND_MS) return askedMs - serverMs;
  return gotMs < serverMs ? gotMs - serverMs : 0;
}

/** Undefined for a difference that is not worth a word. */
export function clockProblem(differenceMs: number): string | undefined {
  const most = Math.abs(differenceMs);
  if (most < SAID_FROM_MS) return undefined;
  const where = differenceMs > 0 ? 'ahead of' : 'behind';
  const seconds = Math.round(most / 1000) * 1000;
  return `the clock of this machine is ${shortDuration(seconds)} ${where} that of the API server: times in statuses and in the node's lease are by this one, and certificates and tokens may seem expired or not valid yet`;
}
