import { afterEach, describe, expect, test } from '@jest/globals';
import { containerStats } from '../../../../src/runtime/process/containers/process-stats.ts';
import { readStat } from '../../../../src/runtime/process/containers/proc.ts';
import type { ContainerRecord } from '../../../../src/runtime/process/monitor/records.ts';
import { childProcesses } from '../../../support/child-processes.ts';
import { containerRecord } from '../../../support/process-records.ts';
import { kill9 } from '../../../support/process-runtime.ts';
import { waitFor } from '../../../support/wait-for.ts';

const children = childProcesses();
afterEach(() => children.end());

const recordOf = (pid: number, id = 'main'): ContainerRecord => {
  const { startTicks } = readStat(pid)!;
  return containerRecord({ id, process: { pid, startTicks } });
};

const TICK_NS = 10_000_000;

describe('the statistics of a container', () => {
  test('have its id and metadata, and the same time as those of the others', () => {
    const records = ['one', 'two'].map((id) => recordOf(children.start('sleep', ['1000']).pid, id));
    const [one, two] = containerStats(records);
    const { metadata, labels } = records[0]!.config;
    expect(one?.attributes).toEqual({ id: 'one', metadata, labels });
    expect(two?.attributes.id).toBe('two');
    expect(two?.cpu?.timestamp).toBe(one?.cpu?.timestamp);
  });

  test('count all processes of its session, and no others', async () => {
    const other = recordOf(children.start('sleep', ['1000']).pid, 'other');
    const script = 'sleep 1000 & set -m; sleep 1000 & echo started; wait';
    const { pid } = await children.startShell(script);
    const [stats, others] = containerStats([recordOf(pid), other]);
    expect([stats?.processCount, others?.processCount]).toEqual([3, 1]);
    expect(stats?.memory?.rssBytes).toBeGreaterThan(others?.memory?.rssBytes ?? Infinity);
    expect(stats?.memory?.workingSetBytes).toBe(stats?.memory?.rssBytes);
  });

  test('have the CPU time of its processes', async () => {
    const { pid } = await children.startShell(
      'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo; sleep 1000',
    );
    const { cpuTicks } = readStat(pid)!;
    expect(cpuTicks).toBeGreaterThan(0);
    expect(containerStats([recordOf(pid)])[0]?.cpu?.usageCoreNanoSeconds).toBeGreaterThanOrEqual(
      cpuTicks * TICK_NS,
    );
  });

  test('keep the CPU time of processes that have ended: a counter never falls', async () => {
    // The worker leaves the shell, which cannot add its time then.
    const work = 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exec sleep 1000';
    const { pid, line } = await children.startShell(`(bash -c '${work}' & echo $!); sleep 1000`);
    const record = recordOf(pid);
    const used = () => containerStats([record])[0]?.cpu?.usageCoreNanoSeconds ?? 0;
    const before = await waitFor(() => used() > 5 * TICK_NS && used(), { what: 'CPU time' });
    await kill9(Number(line));
    expect(used()).toBeGreaterThanOrEqual(before);
  });

  test('are empty if none of its processes runs any more', () => {
    const ended = containerRecord({ id: 'ended', process: { pid: 2 ** 22 + 1, startTicks: 1 } });
    expect(containerStats([ended])[0]).toMatchObject({
      processCount: 0,
      cpu: { usageCoreNanoSeconds: 0 },
      memory: { rssBytes: 0 },
    });
  });
});
