/** A number in [0, 1): always the same for the same key, whatever was asked before. */
export type Random = (key: string) => number;

/**
 * The questions that chance decides about one call, event or sandbox. Each has an answer of its own: to switch one
 * fault off does not change the others.
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

/** The answer to a question, a number in [0, 1). `value` is the result of `Random` for the call, event or sandbox. */
export function answerTo(question: Question, value: number): number {
  // Scrambles the bits by multiplications and shifts (the finaliser of MurmurHash3).
  let bits = (value * VALUES + QUESTIONS[question] * 0x9e3779b9) >>> 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return ((bits ^ (bits >>> 16)) >>> 0) / VALUES;
}

/** A whole number within the range, by an answer in [0, 1). */
export function within([min, max]: readonly [number, number], answer: number): number {
  return min + Math.floor(answer * (max - min + 1));
}

/** Whole milliseconds, both ends included. */
export type Range = readonly [minMs: number, maxMs: number];

/** How long containerd takes for each call of CRI on a machine that has other work as well. */
const CALLS = {
  Version: [1, 3],
  Status: [1, 3],
  RunPodSandbox: [30, 80],
  StopPodSandbox: [10, 40],
  RemovePodSandbox: [5, 20],
  PodSandboxStatus: [1, 3],
  ListPodSandbox: [1, 3],
  CreateContainer: [10, 30],
  StartContainer: [20, 60],
  StopContainer: [2, 10],
  RemoveContainer: [5, 20],
  ListContainers: [1, 3],
  ContainerStatus: [1, 3],
  UpdateContainerResources: [5, 20],
  UpdatePodSandboxResources: [1, 3],
  ReopenContainerLog: [1, 3],
  ExecSync: [10, 40],
  ListContainerStats: [2, 8],
  PullImage: [200, 3000],
  ImageStatus: [1, 3],
  ListImages: [1, 3],
  RemoveImage: [5, 20],
  ImageFsInfo: [1, 3],
} as const satisfies Readonly<Record<string, Range>>;

export type CallName = keyof typeof CALLS;

/** `Event`: from a change to its event. `Reconnect`: from the runtime's return to the first event that a client gets. */
type LatencyName = CallName | 'Event' | 'Reconnect';

/** A call that is not named takes no time. */
export type Latencies = Readonly<Partial<Record<LatencyName, Range>>>;

export const CONTAINERD_LATENCIES: Latencies = { ...CALLS, Event: [0, 3], Reconnect: [100, 2000] };

/** Every call is answered in the next microtask, without a timer. */
export const NO_LATENCIES: Latencies = {};
