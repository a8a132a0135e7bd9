/** The results of `bench:pods`, and their text. */
import { median, type ProcessMemory } from './measures.ts';
import type { Compared } from './table.ts';

export interface Times {
  readonly startMs: number;
  readonly endMs: number;
}

export interface AgentStart {
  readonly startMs: number;
  /** CPU time of the agent for the start of the pods. */
  readonly cpuSeconds: number;
}

export interface DaemonTimes extends Times, AgentStart {}

/** An idle agent with all pods running. */
export interface Idle {
  readonly memory: ProcessMemory;
  /** Percent of one core. */
  readonly cpuPercent: number;
  /** Calls of the runtime. */
  readonly callsPerMinute: number;
}

export interface Report {
  readonly pods: number;
  readonly runs: number;
  readonly containerd: string;
  /** The load of the machine before the bench: other processes affect the results. */
  readonly loadAverage: number;
  /** The times of bare calls, for each number of calls at a time. The best number depends on the machine. */
  readonly search: readonly (Times & { readonly atOnce: number })[];
  readonly startsAtOnce: number;
  readonly endsAtOnce: number;
  readonly bare: readonly Times[];
  /** The time from the first CRI call for a dead container to its restart. */
  readonly bareRestartMs: readonly number[];
  readonly daemon: readonly DaemonTimes[];
  /** The time from a container's death to its restart. */
  readonly restartMs: readonly number[];
  readonly idleSeconds: number;
  readonly idle?: Idle;
  /** Set if there is a kubelet. */
  readonly kubelet: readonly AgentStart[];
  readonly kubeletIdle?: Idle;
}

export function headOf({ pods, runs, containerd, startsAtOnce, endsAtOnce, loadAverage }: Report): string {
  return [
    `${pods} pods on the host's network, containerd ${containerd}, median of ${runs} runs`,
    `bare calls: ${startsAtOnce} starts and ${endsAtOnce} ends at a time; load average before: ${loadAverage.toFixed(2)}`,
  ].join('\n');
}

/** A figure that was not measured has no row. */
export function rowsOf(report: Report): Readonly<Record<string, Compared>> {
  const { bare, daemon, kubelet, bareRestartMs, restartMs, idle, kubeletIdle, idleSeconds } = report;
  const beside = (what: string, figure: number, itsFigure: number): Compared =>
    Number.isNaN(itsFigure) ? { figure } : { figure, beside: what, itsFigure };
  const of = <T>(runs: readonly T[], pick: (one: T) => number) => median(runs.map(pick));
  const calls = (pick: (times: Times) => number) => beside('bare calls', of(daemon, pick), of(bare, pick));
  const agents = (pick: (start: AgentStart) => number) =>
    beside('kubelet', of(daemon, pick), of(kubelet, pick));
  const atRest = (pick: (idle: Idle) => number) =>
    beside('kubelet', idle ? pick(idle) : NaN, kubeletIdle ? pick(kubeletIdle) : NaN);
  const idleFor = `idle for ${idleSeconds} s`;
  const all = {
    'start, till all run (ms)': calls(({ startMs }) => startMs),
    'end, till all are gone (ms)': calls(({ endMs }) => endMs),
    'restart of a container (ms)': beside('bare calls', median(restartMs), median(bareRestartMs)),
    ...(kubelet.length > 0 && { 'start, beside the kubelet (ms)': agents(({ startMs }) => startMs) }),
    'CPU for the start (s)': agents(({ cpuSeconds }) => cpuSeconds),
    [`${idleFor}: anonymous memory (MiB)`]: atRest(({ memory }) => memory.anonymousMiB),
    [`${idleFor}: resident memory (MiB)`]: atRest(({ memory }) => memory.residentMiB),
    [`${idleFor}: CPU (% of a core)`]: atRest(({ cpuPercent }) => cpuPercent),
    [`${idleFor}: calls a minute`]: atRest(({ callsPerMinute }) => callsPerMinute),
  };
  return Object.fromEntries(Object.entries(all).filter(([, { figure }]) => !Number.isNaN(figure)));
}
