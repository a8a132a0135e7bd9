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
