import { rmSync, statfsSync, statSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { DiskUsage } from '../../../../../src/agent/runtime/stats/disks/disk-usage.ts';
import { systemClock } from '../../../../../src/system/timer.ts';
import { waitFor } from '../../../../support/wait-for.ts';
import { RecordedMeasurements } from '../../../../support/recorded-measurements.ts';
import { container, MIB, NOW, SANDBOX, StatsBed, TIME } from '../stats-bed.ts';
import { testContext } from '../../../../support/test-context.ts';

const KIB = 1024;
const LOGS = 'logs/ns_pod_uid';
const VOLUMES = 'root/pods/uid/volumes';

let bed: StatsBed;
let folder: string;
beforeEach(() => {
  bed = new StatsBed();
  folder = bed.cgroups.path('root');
});
afterEach(() => bed.cleanUp());

const text = (bytes: number) => 'x'.repeat(bytes);
const onDisk = (path: string) => statSync(bed.cgroups.path(path)).blocks * 512;

describe('the disk of a pod', () => {
  beforeEach(() => {
    bed.runs({ sandboxes: [SANDBOX], containers: [container('id', 'main')] });
    bed.write(`${LOGS}/main/0.log`, text(20 * KIB));
    bed.write(`${LOGS}/main/0.log.20300101-000000.gz`, text(4 * KIB));
    bed.write(`${VOLUMES}/kubernetes.io~empty-dir/data/file`, text(100 * KIB));
    bed.write(`${VOLUMES}/kubernetes.io~projected/token/token`, text(1));
    bed.containerStats = [
      {
        attributes: { id: 'id', metadata: { name: 'main', attempt: 0 }, labels: {} },
        writableLayer: { timestamp: NOW * 1e6, mountpoint: '/x', usedBytes: MIB, inodesUsed: 7 },
      },
    ];
    bed.imageFs = [{ timestamp: 0, mountpoint: folder, usedBytes: 9 * MIB, inodesUsed: 99 }];
  });

  test('is its logs, its volumes and the writable layers of its containers', async () => {
    const pod = await bed.podStats();
    const { blocks, bsize } = statfsSync(folder);
    const capacityBytes = blocks * bsize;
    const logs = [`${LOGS}/main`, `${LOGS}/main/0.log`, `${LOGS}/main/0.log.20300101-000000.gz`];
    const logBytes = logs.map(onDisk).reduce((a, b) => a + b);
    expect(pod.containers).toEqual([
      expect.objectContaining({
        logs: expect.objectContaining({ capacityBytes, usedBytes: logBytes, inodesUsed: 3 }),
        rootfs: expect.objectContaining({ time: TIME, capacityBytes, usedBytes: MIB, inodesUsed: 7 }),
      }),
    ]);
    const volumes = pod.volume ?? [];
    expect(volumes).toMatchObject([
      { name: 'data', inodesUsed: 2, capacityBytes },
      { name: 'token', inodesUsed: 2, capacityBytes },
    ]);
    expect(volumes[0]?.usedBytes).toBeGreaterThanOrEqual(100 * KIB);
    const volumeBytes = volumes.reduce((sum, { usedBytes = 0 }) => sum + usedBytes, 0);
    expect(pod['ephemeral-storage']).toMatchObject({
      capacityBytes,
      usedBytes: MIB + logBytes + volumeBytes,
      inodesUsed: 7 + 3 + 4,
    });
  });

  test('has the same figures of its logs in the metrics, of containers that run', async () => {
    const [pod] = bed.pods;
    const [figures] = await bed.open().logFigures();
    const logs = (await bed.podStats()).containers?.[0]?.logs;
    expect(figures?.pod).toBe(pod);
    expect([...(figures?.used ?? [])]).toEqual([
      ['main', { usedBytes: logs?.usedBytes, inodesUsed: logs?.inodesUsed }],
    ]);
  });

  test('is timed, volume by volume', async () => {
    const measurements = new RecordedMeasurements();
    const { pods } = await bed.open({}, { measurements }).summary();
    expect(pods[0]?.volume).toHaveLength(2);
    expect(measurements.told).toEqual(Array(2).fill(['volume walk begins', 'volume walk ends']).flat());
  });

  test('has no figures for a writable layer that the runtime has not measured yet', async () => {
    const [told] = bed.containerStats;
    const layer = { timestamp: 0, mountpoint: '/x', usedBytes: 0, inodesUsed: 0 };
    bed.containerStats = [{ ...told!, writableLayer: layer }];
    expect((await bed.podStats()).containers?.[0]).not.toHaveProperty('rootfs');
  });

  test('is left out if only CPU and memory are asked for', async () => {
    const { node, pods } = await bed.summary({ onlyCPUAndMemory: true });
    expect(Object.keys(node)).not.toContain('fs');
    expect(Object.keys(pods[0] ?? {})).not.toContain('volume');
  });

  test('has its logs as they are at each request, while its volumes are not measured again', async () => {
    const stats = bed.open();
    const logs = async () => (await stats.summary()).pods[0];
    const before = await logs();
    await bed.clock.advance(30_000);
    bed.write(`${LOGS}/main/0.log`, text(MIB));
    const after = await logs();
    const [logsBefore, logsAfter] = [before, after].map((pod) => pod?.containers?.[0]?.logs);
    const grown = (logsAfter?.usedBytes ?? 0) - (logsBefore?.usedBytes ?? 0);
    expect(grown).toBeGreaterThanOrEqual(MIB - 20 * KIB);
    expect(Date.parse(logsAfter?.time ?? '')).toBeGreaterThan(Date.parse(logsBefore?.time ?? ''));
    const ephemeral = [before, after].map((pod) => pod?.['ephemeral-storage']?.usedBytes ?? 0);
    expect(ephemeral[1]! - ephemeral[0]!).toBe(grown);
    expect(after?.volume?.[0]?.time).toBe(TIME);
  });

  test('counts the logs while its volumes are not known yet, and no more than a thousand files of a container', async () => {
    for (let index = 1; index < 1100; index += 1) {
      bed.write(`${LOGS}/main/${index}.log`, '');
      bed.write(`${VOLUMES}/kubernetes.io~empty-dir/data/${index}`, '');
    }
    const { containers, volume } = await bed.podStats({ diskUsagePatienceMs: 0 });
    expect([containers?.[0]?.logs?.inodesUsed, volume]).toEqual([1001, undefined]);
  });

  test('is measured again if the figures are too old for the caller', async () => {
    const stats = bed.open();
    const bytes = async (options = {}) => (await stats.summary(options)).pods[0]?.volume?.[0]?.usedBytes ?? 0;
    const before = await bytes();
    bed.write(`${VOLUMES}/kubernetes.io~empty-dir/data/more`, text(MIB));
    expect(await bytes()).toBe(before);
    expect(await bytes({ diskUsageMaxAgeMs: -1 })).toBeGreaterThanOrEqual(before + MIB);
  });

  test('is measured again after a minute, and when the clock was set back', async () => {
    let nowMs = NOW;
    const stats = bed.open({}, { clock: { ...systemClock, now: () => nowMs } });
    const inodes = async () => (await stats.summary()).pods[0]?.volume?.[0]?.inodesUsed;
    expect(await inodes()).toBe(2);
    for (const [index, afterMs] of [59_999, 60_001, 0].entries()) {
      nowMs = NOW + afterMs;
      bed.write(`${VOLUMES}/kubernetes.io~empty-dir/data/more-${index}`, '');
      expect(await inodes()).toBe([2, 4, 5][index]);
    }
  });

  test('is still known after a summary of the node alone', async () => {
    const stats = bed.open();
    const volume = async () => (await stats.summary()).pods[0]?.volume?.[0];
    const before = await volume();
    await stats.summary({ onlyNode: true });
    bed.write(`${VOLUMES}/kubernetes.io~empty-dir/data/more`, text(MIB));
    expect(await volume()).toMatchObject({ usedBytes: before?.usedBytes });
  });

  test('that takes too long for one summary is in a later one', async () => {
    const stats = bed.open();
    const volume = async (options = {}) => (await stats.summary(options)).pods[0]?.volume;
    for (let index = 0; index < 600; index += 1) {
      bed.write(`${VOLUMES}/kubernetes.io~empty-dir/data/${index}`, '');
    }
    expect(await volume({ diskUsagePatienceMs: 0 })).toBeUndefined();
    expect(await waitFor(() => volume({ diskUsagePatienceMs: 0 }), { what: 'the volumes' })).toHaveLength(2);
  });

  test('without folders has no volumes', async () => {
    rmSync(bed.cgroups.path('logs'), { recursive: true });
    rmSync(bed.cgroups.path('root/pods'), { recursive: true });
    const pod = await bed.podStats();
    expect(pod.volume).toBeUndefined();
    expect(pod['ephemeral-storage']).toMatchObject({ usedBytes: MIB });
  });

  test('with more files than can be counted in time has one warning, and the figures so far', async () => {
    for (let index = 0; index < 600; index += 1) {
      bed.write(`${VOLUMES}/kubernetes.io~empty-dir/data/${index}`, '');
    }
    const { logger, messages } = bed.log;
    const podsDir = bed.cgroups.path('root/pods');
    const usage = new DiskUsage(
      testContext({ clock: bed.clock, logger }),
      { podsDir, scratchOf: () => [] },
      -1,
    );
    for (const maxAgeMs of [0, -1]) {
      const disk = (await usage.of(bed.pods, { maxAgeMs, patienceMs: 10_000 })).get('uid');
      expect(disk?.volumes[0]?.inodesUsed).toBeGreaterThan(200);
      expect(disk?.volumes[0]?.inodesUsed).toBeLessThan(600);
    }
    expect(messages).toEqual([expect.stringContaining('the pod uses more')]);
    await usage.stop();
  });

  test('is not measured after the provider was closed', async () => {
    const stats = bed.open();
    await stats.close();
    expect((await stats.summary()).pods[0]).not.toHaveProperty('volume');
  });
});
