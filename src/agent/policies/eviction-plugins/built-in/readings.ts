/** What is measured again and again: whether it was above a bound, and how busy CPUs were in between. */
import type { NumaNodeCpu } from '../../../../types/eviction-plugin.ts';

export interface Reading {
  readonly atMs: number;
  readonly isOver: boolean;
}

/** Whether a new one is due. A clock that was set back must not make it wait for long. */
export function isDue(last: { readonly atMs: number } | undefined, nowMs: number, periodMs: number): boolean {
  return last === undefined || nowMs < last.atMs || nowMs - last.atMs >= periodMs;
}

/** Whether pods were named too recently. */
export function isCoolingDown(namedAtMs: number, coolDownMs: number, nowMs: number): boolean {
  return nowMs >= namedAtMs && nowMs - namedAtMs < coolDownMs;
}

/** As in Katalyst, a part of the whole ring: until it is full, readings that are not there count as below. */
export function overShare(readings: readonly Reading[], size: number): number {
  return readings.slice(-size).filter(({ isOver }) => isOver).length / size;
}

/** Which part of the time since the counts before the CPUs of each NUMA node were busy; without nodes whose share is not known. */
export function busyShares(
  nodes: readonly NumaNodeCpu[],
  before: readonly NumaNodeCpu[],
  ticksOf: (node: NumaNodeCpu) => number = ({ busyTicks }) => busyTicks,
): ReadonlyMap<number, number> {
  return new Map(
    nodes.flatMap((node): [number, number][] => {
      const { id, totalTicks } = node;
      const last = before.find((one) => one.id === id) ?? node;
      const ticks = totalTicks - last.totalTicks;
      const busy = ticksOf(node) - ticksOf(last);
      return ticks <= 0 ? [] : [[id, Math.min(1, Math.max(0, busy / ticks))]];
    }),
  );
}
