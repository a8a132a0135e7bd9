/** What `bench:pods` found, and how it is shown. */
import { median } from './measures.ts';

export interface Times {
  readonly startMs: number;
  readonly endMs: number;
}

export interface AgentStart {
  readonly startMs: number;
  /** Of the agent, for the start of the pods. */
  readonly cpuSeconds: number;
}

export interface DaemonTimes extends Times, AgentStart {}

/** An agent with all pods running, while nothing happens. */
export interface Idle {
  readonly rssMiB: number;
  /** Of a core. */
  readonly cpuPercent: number;
  /** Of the runtime. */
  readonly callsPerMinute: number;
}

export interface Report {
  readonly pods: number;
  readonly runs: number;
  readonly containerd: string;
  /** Of the machine before the bench: whoever else runs on it takes part in what is measured. */
  readonly loadAverage: number;
  /** Bare calls by how many there were at a time: which number is best is a matter of the machine. */
  readonly search: readonly (Times & { readonly atOnce: number })[];
  readonly startsAtOnce: number;
  readonly endsAtOnce: number;
  readonly bare: readonly Times[];
  /** From the first call that a dead container needs to its next instance's start. */
  readonly bareRestartMs: readonly number[];
  readonly daemon: readonly DaemonTimes[];
  /** From a container's death to its next instance's start. */
  readonly restartMs: readonly number[];
  readonly idleSeconds: number;
  readonly idle?: Idle;
  /** Where there is a kubelet. */
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
    row(name, '', ifKnown(ours, show), '', ifKnown(theirs, show));
  const cpu = (all: readonly AgentStart[]) => median(all.map(({ cpuSeconds }) => cpuSeconds));
  const idleCost = (name: string, pick: (idle: Idle) => number, show: (number: number) => string) =>
    cost(name, idle ? pick(idle) : Number.NaN, kubeletIdle ? pick(kubeletIdle) : Number.NaN, show);
  return [
    cost('CPU for the start', cpu(daemon), cpu(kubelet), (number) => `${number.toFixed(2)} s`),
    ...(idle === undefined ? [] : ['', `while nothing happens, over ${idleSeconds} s:`]),
    ...(idle === undefined
      ? []
      : [
          idleCost(
            'resident',
            ({ rssMiB }) => rssMiB,
            (number) => `${number.toFixed(0)} MiB`,
          ),
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
const milliseconds = (ms: number) => ifKnown(ms, () => `${ms.toFixed(0)} ms`);
export const seconds = (ms: number) => ifKnown(ms, () => `${(ms / 1000).toFixed(2)} s`);
