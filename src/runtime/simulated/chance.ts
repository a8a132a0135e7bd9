/** From 0 up to, not including, 1; the same for the same key, whatever has been asked before. */
export type Random = (key: string) => number;

/**
 * What is decided by chance about one call, event or sandbox. Each question has an answer of its own, so that a fault
 * which is switched off changes nothing else.
 */
const QUESTIONS = {
  latency: 1,
  landing: 2,
  fail: 3,
  failureKind: 4,
  lostAnswer: 5,
  hang: 6,
  slow: 7,
  disappear: 8,
  landsUnawaited: 9,
  landsLate: 10,
  lost: 11,
  late: 12,
  lateness: 13,
  doubled: 14,
  again: 15,
  reordered: 16,
  overtaken: 17,
  death: 18,
  lifetime: 19,
  alone: 20,
  untrue: 21,
} as const;

export type Question = keyof typeof QUESTIONS;

const VALUES = 2 ** 32;

/** The answer to a question, from 0 up to, not including, 1. `value` is what `Random` gave for the thing that it is about. */
export function answerTo(question: Question, value: number): number {
  // Multiplications and shifts scramble it (the finaliser of MurmurHash3).
  let bits = (value * VALUES + QUESTIONS[question] * 0x9e3779b9) >>> 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return ((bits ^ (bits >>> 16)) >>> 0) / VALUES;
}

/** A whole number of the range. */
export function within([min, max]: readonly [number, number], answer: number): number {
  return min + Math.floor(answer * (max - min + 1));
}
