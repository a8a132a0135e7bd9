/**
 * Thresholds on pressure stall information: for how much of the time tasks of the node may wait for memory or disks. For
 * eviction the amount that is left counts: here the share of the time in which no task waits, in percent.
 */
import { invalid } from '../../../types/errors.ts';
import { gracePeriodMs, type Threshold } from './thresholds.ts';
import { isPressureSignal, type PressureSignal } from './signals.ts';
import { type Quantity, quantityString } from '../formats/quantity.ts';

type Texts = Readonly<Record<string, string>>;

export interface PressureSettings {
  /** By signal: pods are evicted if tasks wait for more than this percentage of the time. */
  readonly evictionPSI: Texts;
  /** By signal, how long that has to last. Without it, pods are evicted at once. */
  readonly evictionPSIGracePeriod: Texts;
}

/** The line of `/proc/pressure` that the signal is read from. */
export interface PressureSource {
  readonly resource: 'memory' | 'io';
  /** Whether some tasks wait, or all that have work to do. */
  readonly kind: 'some' | 'full';
}

const SOURCES: Readonly<Record<PressureSignal, PressureSource>> = {
  'memory.pressure.some.avg10': { resource: 'memory', kind: 'some' },
  'memory.pressure.full.avg10': { resource: 'memory', kind: 'full' },
  'io.pressure.some.avg10': { resource: 'io', kind: 'some' },
  'io.pressure.full.avg10': { resource: 'io', kind: 'full' },
};

/** All of them. */
export const PRESSURE_SIGNALS = Object.keys(SOURCES) as readonly PressureSignal[];

/** In hundredths of a percent, the kernel's precision. */
const ALL_TIME = 100_00n;
const NANOS = 10n ** 7n;

/** Hard thresholds come first. Throws a StateletError of kind InvalidArgument. */
export function pressureThresholds(settings: PressureSettings): readonly Threshold[] {
  const limits = pressureLimits(settings.evictionPSI);
  const periods = pressureGracePeriods(settings.evictionPSIGracePeriod);
  const idle = [...periods.keys()].find((signal) => !limits.has(signal));
  if (idle !== undefined)
    throw invalid(`${idle} has a grace period and no threshold, which would be such as "20%"`);
  const thresholds = Array.from(limits, ([signal, percent]): Threshold => {
    return { signal, value: { quantity: timeLeft(percent) }, gracePeriodMs: periods.get(signal) ?? 0 };
  });
  return thresholds.sort((a, b) => Number(a.gracePeriodMs > 0) - Number(b.gracePeriodMs > 0));
}

export function pressureSource(signal: PressureSignal): PressureSource {
  return SOURCES[signal];
}

/** Percentages by signal. */
export function pressureLimits(texts: Texts): ReadonlyMap<PressureSignal, number> {
  return new Map(Object.entries(texts).map(([name, text]) => [signalNamed(name), percentOf(name, text)]));
}

/** Milliseconds by signal. */
export function pressureGracePeriods(texts: Texts): ReadonlyMap<PressureSignal, number> {
  return new Map(Object.entries(texts).map(([name, text]) => [signalNamed(name), gracePeriodMs(name, text)]));
}

/** The share of the time without waiting, by the percentage of the time with it. */
export function timeLeft(waitedPercent: number): Quantity {
  const hundredths = ALL_TIME - BigInt(Math.round(waitedPercent * 100));
  return { nanos: hundredths * NANOS, format: 'DecimalSI' };
}

export const WHOLE_TIME: Quantity = timeLeft(0);

/** The percentage of the time with waiting, by the share without it. */
export function waitedPercent({ nanos }: Quantity): number {
  return Number(ALL_TIME - nanos / NANOS) / 100;
}

/** For people: what is left (`500Mi`), or for pressure the time spent waiting (`20%`). */
export function figureText(signal: string, left: Quantity): string {
  return isPressureSignal(signal) ? `${waitedPercent(left)}%` : quantityString(left);
}

function signalNamed(name: string): PressureSignal {
  if (isPressureSignal(name)) return name;
  throw invalid(`unsupported pressure signal ${name}; there are ${PRESSURE_SIGNALS.join(', ')}`);
}

function percentOf(signal: string, text: string): number {
  const percent = /^\d+(?:\.\d+)?%$/.test(text) ? Number(text.slice(0, -1)) : NaN;
  if (percent > 0 && percent < 100) return percent;
  throw invalid(`pressure threshold ${signal} must be above 0% and below 100%: ${text}`);
}
