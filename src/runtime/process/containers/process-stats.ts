import type { ContainerStats } from '../../../types/cri.ts';
import { nowNs } from '../monitor/start-clock.ts';
import { processTable, residentBytes } from './proc.ts';
import type { ProcessStat } from './proc.ts';
import type { ContainerRecord } from '../monitor/records.ts';

const NS_PER_TICK = 10_000_000;

/**
 * CPU time of a process is lost if its parent does not wait for its end: the highest sum is kept, so that a counter
 * never falls.
 */
const highestTicks = new WeakMap<ContainerRecord, number>();

/** What each container uses: the sum over the processes of its session or group. Shared pages count once per process. */
export function containerStats(records: readonly ContainerRecord[]): ContainerStats[] {
  const table = processTable();
  const timestamp = Number(nowNs());
  return records.map((record) => {
    const { id, config, process: main } = record;
    const members = table.filter((stat) => stat.sessionId === main?.pid || stat.groupId === main?.pid);
    const rssBytes = sum(members, (stat) => residentBytes(stat.pid));
    const cpuTicks = Math.max(
      highestTicks.get(record) ?? 0,
      sum(members, (stat) => stat.cpuTicks),
    );
    highestTicks.set(record, cpuTicks);
    return {
      attributes: { id, metadata: config.metadata, labels: config.labels },
      cpu: { timestamp, usageCoreNanoSeconds: cpuTicks * NS_PER_TICK },
      memory: { timestamp, workingSetBytes: rssBytes, rssBytes },
      processCount: members.length,
    };
  });
}

function sum(members: readonly ProcessStat[], of: (stat: ProcessStat) => number): number {
  return members.reduce((total, stat) => total + of(stat), 0);
}
