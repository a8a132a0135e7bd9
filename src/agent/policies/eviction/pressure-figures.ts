/** How much the node has left, for the record and the page: recorded again when it has changed noticeably. */
import { quantityValue } from '../formats/quantity.ts';
import type { PressureFigure } from '../../../types/page-views.ts';
import type { Observations } from './observations.ts';
import type { EvictionSignal } from './signals.ts';
import { isHardThreshold, type Threshold, thresholdQuantity } from './thresholds.ts';

/** The figure of a signal that was recorded last. */
export interface ReportedFigure {
  readonly figure: PressureFigure;
  readonly atMs: number;
}
export type ReportedFigures = ReadonlyMap<string, ReportedFigure>;

/** The amounts left of these are recorded even without a threshold. */
const OF_NODE: readonly EvictionSignal[] = [
  'memory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'pid.available',
];
/** A change of this share of the whole is noticeable, and one of that share of what was left. */
const OF_WHOLE = 0.02;
const OF_LEFT = 0.2;
/** Figures are recorded again after this time, because the oldest part of a record is deleted from time to time. */
const AGAIN_MS = 600_000;

/** The figures of each measured signal for which pods are evicted, or which is about the whole node. */
export function pressureFigures(
  observations: Observations,
  thresholds: readonly Threshold[],
): readonly PressureFigure[] {
  return [...observations].flatMap(([signal, { available, capacity }]) => {
    const own = thresholds.filter((threshold) => threshold.signal === signal);
    if (own.length === 0 && !OF_NODE.includes(signal)) return [];
    const limits = own.map((threshold) => {
      const limit = Number(quantityValue(thresholdQuantity(threshold.value, capacity)));
      return isHardThreshold(threshold) ? { hard: limit } : { soft: limit };
    });
    const [left, whole] = [Number(quantityValue(available)), Number(quantityValue(capacity))];
    return [Object.assign({ signal, left, whole }, ...limits) as PressureFigure];
  });
}

/** Figures that have changed noticeably since they were recorded, or were recorded long ago. */
export function newsOfFigures(
  figures: readonly PressureFigure[],
  reported: ReportedFigures,
  nowMs: number,
): readonly PressureFigure[] {
  return figures.filter((figure) => {
    const last = reported.get(figure.signal);
    return last === undefined || nowMs - last.atMs >= AGAIN_MS || hasChanged(last.figure, figure);
  });
}

function hasChanged(before: PressureFigure, after: PressureFigure): boolean {
  const change = Math.abs(after.left - before.left);
  const isOther = (['whole', 'hard', 'soft'] as const).some((field) => before[field] !== after[field]);
  const isMoved = change > 0 && (change >= OF_WHOLE * after.whole || change >= OF_LEFT * before.left);
  return (
    isOther ||
    isMoved ||
    isBelow(before, before.hard) !== isBelow(after, after.hard) ||
    isBelow(before, before.soft) !== isBelow(after, after.soft)
  );
}

const isBelow = ({ left }: PressureFigure, limit: number | undefined): boolean =>
  limit !== undefined && left < limit;

export function withReported(
  reported: ReportedFigures,
  news: readonly PressureFigure[],
  atMs: number,
): ReportedFigures {
  if (news.length === 0) return reported;
  return new Map([...reported, ...news.map((figure) => [figure.signal, { figure, atMs }] as const)]);
}
