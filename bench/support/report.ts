/** What `bench:pods` found, and how it is shown. */
import { median } from './measures.ts';

export interface Times {
  readonly startMs: number;
  readonly endMs: number;
}

export interface DaemonTimes extends Times {
  /** Of the daemon, for the start of the pods. */
  readonly cpuSeconds: number;
}

export interface Steady {
  readonly rssMiB: number;
  /** Of a core. */
  readonly idleCpuPercent: number;
  readonly idleSeconds: number;
  /** From a container's death to its next instance's start. */
  readonly restartMs: readonly number[];
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
  readonly steady?: Steady;
}

export function table(report: Report): string {
  const { pods, runs, containerd, startsAtOnce, endsAtOnce, loadAverage, steady } = report;
  return [
    `${pods} pods on the host's network, containerd ${containerd}, median of ${runs} runs`,
    `bare calls: ${startsAtOnce} starts and ${endsAtOnce} ends at a time; load average before: ${loadAverage.toFixed(2)}`,
    '',
    row('', 'bare calls', 'daemon', ''),
    timesRow('start, till all run', report, ({ startMs }) => startMs),
    timesRow('end, till all are gone', report, ({ endMs }) => endMs),
    restartRow(report),
    ...(steady ? ['', ...ownCosts(report, steady)] : []),
  ].join('\n');
}

function timesRow(name: string, { bare, daemon }: Report, pick: (times: Times) => number): string {
  const [bareMs, daemonMs] = [median(bare.map(pick)), median(daemon.map(pick))];
  return row(
    name,
    seconds(bareMs),
    seconds(daemonMs),
    ifKnown(daemonMs / bareMs, (ratio) => `${ratio.toFixed(2)} times`),
  );
}

function restartRow({ bareRestartMs, steady }: Report): string {
  const [bareMs, daemonMs] = [median(bareRestartMs), median(steady?.restartMs ?? [])];
  const more = ifKnown(daemonMs - bareMs, (ms) => `${ms.toFixed(0)} ms more`);
  return row('restart of a container', milliseconds(bareMs), milliseconds(daemonMs), more);
}

function ownCosts({ daemon }: Report, steady: Steady): readonly string[] {
  const cpu = median(daemon.map(({ cpuSeconds }) => cpuSeconds));
  return [
    `CPU of the daemon for the start: ${cpu.toFixed(2)} s`,
    `resident with all running: ${steady.rssMiB.toFixed(0)} MiB`,
    `CPU while nothing happens: ${steady.idleCpuPercent.toFixed(2)}% of a core, over ${steady.idleSeconds} s`,
  ];
}

const row = (...[name, bare, daemon, compared]: [string, string, string, string]): string =>
  `${name.padEnd(24)}${bare.padStart(12)}${daemon.padStart(12)}   ${compared}`.trimEnd();

const ifKnown = (number: number, show: (number: number) => string): string =>
  Number.isNaN(number) ? '' : show(number);
const milliseconds = (ms: number) => ifKnown(ms, () => `${ms.toFixed(0)} ms`);
export const seconds = (ms: number) => ifKnown(ms, () => `${(ms / 1000).toFixed(2)} s`);
