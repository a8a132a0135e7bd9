/** From and to, in whole milliseconds, both included. */
export type Range = readonly [minMs: number, maxMs: number];

/** As containerd takes them on a machine that has other work as well. The names are CRI's. */
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

/** `Event`: from what happens to the event that tells of it. `Reconnect`: from a runtime's return to the next event. */
type LatencyName = CallName | 'Event' | 'Reconnect';

/** What is not named takes no time at all. */
export type Latencies = Readonly<Partial<Record<LatencyName, Range>>>;

export const CONTAINERD_LATENCIES: Latencies = { ...CALLS, Event: [0, 3], Reconnect: [100, 2000] };

/** Answers come in the next microtask, without a timer. */
export const NO_LATENCIES: Latencies = {};
