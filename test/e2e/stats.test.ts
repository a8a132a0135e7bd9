/** The statistics of a node without a container runtime. */
import { existsSync, writeFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Summary } from '../../src/types/stats.ts';
import { DaemonBed, NODE_NAME } from '../support/daemon.ts';
import { waitFor } from '../support/wait-for.ts';
import { manifest, shell } from './manifests.ts';

const MIB = 2 ** 20;

let bed: DaemonBed;
beforeEach(() => {
  bed = new DaemonBed();
});
afterEach(() => bed.cleanUp());

test('plain processes have statistics of memory, CPU, PIDs and disk', async () => {
  const daemon = await bed.start();
  const written = join(bed.dir, 'written');
  const script = `head -c 1000000 /dev/zero > file; echo done; touch ${written}; sleep 1000 & sleep 1000 & wait`;
  writeFileSync(join(bed.manifestDir, 'web.json'), manifest('web', { containers: [shell(script)] }));
  const { metadata } = await daemon.running('web');
  // Disks are measured at the first request, and then only once a minute.
  await waitFor(() => existsSync(written), { what: 'the file' });
  const summary = async () => (await (await daemon.fetch('/stats/summary')).json()) as Summary;
  const isThere = async () => {
    const found = await summary();
    return found.pods[0]?.process_stats?.process_count === 3 && found;
  };
  const { node, pods } = await waitFor(isThere, { what: 'three processes' });
  expect(node).toMatchObject({ nodeName: NODE_NAME, rlimit: { maxpid: expect.any(Number) } });
  expect(node.memory?.availableBytes).toBeGreaterThan(0);
  expect(node.memory?.availableBytes).toBeLessThan(totalmem());
  expect(node.fs?.availableBytes).toBeGreaterThan(0);
  expect(Array.isArray(node.network?.interfaces)).toBe(true);
  const { name, namespace, uid } = metadata;
  expect(pods.map(({ podRef }) => podRef)).toEqual([{ name, namespace, uid }]);
  const [figures] = pods;
  expect(figures).not.toHaveProperty('network');
  expect(figures?.memory?.rssBytes).toBeGreaterThan(0);
  expect(figures?.memory?.rssBytes).toBeLessThan(100 * MIB);
  expect(figures?.containers?.[0]?.logs?.usedBytes).toBeGreaterThan(0);
  expect(figures?.['ephemeral-storage']?.usedBytes).toBeGreaterThan(1_000_000);
});
