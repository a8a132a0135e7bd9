/** The results of `bench:pods`, and their text. */
import { median, type ProcessMemory } from './measures.ts';

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

export function table(report: Report): string {
  const { pods, runs, containerd, startsAtOnce, endsAtOnce, loadAverage } = report;
  return [
    `${pods} pods on the host's network, containerd ${containerd}, median of ${runs} runs`,
    `bare calls: ${startsAtOnce} starts and ${endsAtOnce} ends at a time; load average before: ${loadAverage.toFixed(2)}`,
    '',
    row('', 'bare calls', 'daemon', '', report.kubelet.length > 0 ? 'kubelet' : ''),
    startRow(report),
    endRow(report),
    restartRow(report),
    ...ownCosts(report),
  ].join('\n');
}

function startRow({ bare, daemon, kubelet }: Report): string {
  const [bareMs, daemonMs, kubeletMs] = [bare, daemon, kubelet].map((all) =>
    median(all.map(({ startMs }) => startMs)),
  ) as [number, number, number];
  return row(
    'start, till all run',
    seconds(bareMs),
    seconds(daemonMs),
    times(daemonMs, bareMs),
    seconds(kubeletMs),
  );
}

function endRow({ bare, daemon }: Report): string {
  const [bareMs, daemonMs] = [
    median(bare.map(({ endMs }) => endMs)),
    median(daemon.map(({ endMs }) => endMs)),
  ];
  return row('end, till all are gone', seconds(bareMs), seconds(daemonMs), times(daemonMs, bareMs));
}

function restartRow({ bareRestartMs, restartMs }: Report): string {
  const [bareMs, daemonMs] = [median(bareRestartMs), median(restartMs)];
  const more = ifKnown(daemonMs - bareMs, (ms) => `${ms.toFixed(0)} ms more`);
  return row('restart of a container', milliseconds(bareMs), milliseconds(daemonMs), more);
}

function ownCosts({ daemon, kubelet, idle, kubeletIdle, idleSeconds }: Report): readonly string[] {
  const cost = (name: string, ours: number, theirs: number, show: (number: number) => string) =>
    row(
      name,
      '',
      ifKnown(ours, show),
      ifKnown(ours / theirs, (ratio) => `${ratio.toFixed(2)} of`),
      ifKnown(theirs, show),
    );
  const cpu = (all: readonly AgentStart[]) => median(all.map(({ cpuSeconds }) => cpuSeconds));
  const idleCost = (name: string, pick: (idle: Idle) => number, show: (number: number) => string) =>
    cost(name, idle ? pick(idle) : Number.NaN, kubeletIdle ? pick(kubeletIdle) : Number.NaN, show);
  return [
    cost('CPU for the start', cpu(daemon), cpu(kubelet), (number) => `${number.toFixed(2)} s`),
    ...(idle === undefined ? [] : ['', `while nothing happens, over ${idleSeconds} s:`]),
    ...(idle === undefined
      ? []
      : [
          idleCost('anonymous memory', ({ memory }) => memory.anonymousMiB, mebibytes),
          idleCost('resident memory', ({ memory }) => memory.residentMiB, mebibytes),
          idleCost(
            'CPU, of a core',
            ({ cpuPercent }) => cpuPercent,
            (number) => `${number.toFixed(2)}%`,
          ),
          idleCost(
            'calls a minute',
            ({ callsPerMinute }) => callsPerMinute,
            (number) => number.toFixed(0),
          ),
        ]),
  ];
}

const row = (name: string, bare: string, daemon: string, compared = '', kubelet = ''): string =>
  `${name.padEnd(24)}${bare.padStart(12)}${daemon.padStart(12)}  ${compared.padEnd(12)}${kubelet.padStart(12)}`.trimEnd();

const times = (ours: number, bare: number) => ifKnown(ours / bare, (ratio) => `${ratio.toFixed(2)} times`);
const ifKnown = (number: number, show: (number: number) => string): string =>
  Number.isNaN(number) ? '' : show(number);
const mebibytes = (number: number) => `${number.toFixed(1)} MiB`;
const milliseconds = (ms: number) => ifKnown(ms, () => `${ms.toFixed(0)} ms`);
export const seconds = (ms: number) => ifKnown(ms, () => `${(ms / 1000).toFixed(2)} s`);
