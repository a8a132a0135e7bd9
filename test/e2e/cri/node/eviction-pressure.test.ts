/** Eviction of pods that cause pressure: they keep the disks busy, or read the same memory again and again. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { pressureThresholds } from '../../../../src/agent/policies/eviction/pressure-settings.ts';
import type { Container } from '../../../../src/types/kubernetes.ts';
import {
  type EvictingAgent,
  evictablePod,
  startEvictingAgent,
} from '../../../support/containerd/evicting-agent.ts';
import { keepFilesOnDisk } from '../../../support/files-in-memory.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { describeOnBed } from '../../../support/cri-suite.ts';

keepFilesOnDisk();

const MIB = 2 ** 20;
const SCRATCH = { volumes: [{ name: 'scratch', emptyDir: {} }] };
const MOUNTED = { volumeMounts: [{ name: 'scratch', mountPath: '/scratch' }] };
/** Holds the pod back: it idles until the test lets it go. */
const WAITING = 'until [ -e /scratch/go ]; do sleep 0.1; done';
/** Writes without the page cache, block by block. */
const WRITING =
  'for i in 1 2 3; do while :; do dd if=/dev/zero of=/scratch/$i bs=4k count=2000 oflag=direct; done & done; wait';
/** More than other processes on this machine probably cause. */
const IO_PERCENT = 15;
const MEMORY_PERCENT = 8;
/** Reads a file again and again that is larger than the memory limit of the container. */
const THRASHING =
  'dd if=/dev/zero of=/scratch/file bs=1M count=96; for i in 1 2 3; do while :; do cat /scratch/file > /dev/null; done & done; wait';

describeOnBed('a node under pressure', (bed) => {
  let agent: EvictingAgent;

  afterEach(() => agent.cleanUp());

  /** Starts the agent when there is no pressure, as no pod is admitted under pressure. */
  async function start(resource: 'io' | 'memory', percent: number, rootDir: string): Promise<void> {
    await waitFor(() => stalledPercent(resource) < percent / 2, {
      what: `no process to wait for ${resource}`,
      pauseMs: 500,
    });
    const thresholds = pressureThresholds({
      evictionPSI: { [`${resource}.pressure.some.avg10`]: `${percent}%` },
      evictionPSIGracePeriod: {},
    });
    mkdirSync(rootDir);
    agent = await startEvictingAgent(bed.containerd, { rootDir, settings: () => ({ thresholds }) });
  }

  /** Adds a pod, and one that does nothing. The first goes on when both are measured: one that is not measured yet would be evicted first. */
  async function addWithModest(name: string, script: string, fields: Partial<Container>): Promise<void> {
    const container = bed.shell(`${WAITING}; ${script}`, { ...fields, ...MOUNTED });
    const modest = evictablePod('modest', bed.server({ resources: { requests: { memory: '64Mi' } } }));
    agent.add(evictablePod(name, container, SCRATCH), modest);
    const areMeasured = async () => {
      const { pods } = await agent.stats.summary();
      const uids = pods.filter(({ memory }) => memory !== undefined).map(({ podRef }) => podRef.uid);
      return [`uid-${name}`, 'uid-modest'].every((uid) => uids.includes(uid));
    };
    await waitFor(areMeasured, { what: 'both pods to be measured' });
    const volume = join(agent.rootDir, 'pods', `uid-${name}`, 'volumes/kubernetes.io~empty-dir/scratch');
    writeFileSync(join(volume, 'go'), '');
  }

  const isEvicted = (name: string) =>
    waitFor(() => agent.state(`uid-${name}`) === 'Terminated.Finished', {
      what: `${name} to be evicted (it is in ${agent.state(`uid-${name}`)}); ${agent.log.slice(-5).join('; ')}`,
      pauseMs: 100,
    });
  const statusOf = (name: string) => agent.statusManager.get(`uid-${name}`);
  const firstEvicted = () => agent.events.find((event) => event.endsWith(' Evicted'));

  test('of I/O evicts the pod that keeps the disks busy', async () => {
    await start('io', IO_PERCENT, join(await bed.containerd.smallDisk('busy', 64 * MIB), 'root'));
    await addWithModest('writer', WRITING, {});
    await isEvicted('writer');
    expect(statusOf('writer')).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
    expect(statusOf('writer')?.message).toMatch(
      /^The node was low on resource: io\. Threshold of io\.pressure\.some\.avg10: 15%, observed: [\d.]+%\. $/,
    );
    expect(agent.conditions()).toEqual(['DiskPressure']);
    const told = agent.log.find((line) => line.includes('default/writer (uses '));
    expect(told).toMatch(/default\/writer \(uses \d+\w*\/s, priority 0\) goes; next: default\/modest /);
    expect(firstEvicted()).toBe('writer Evicted');
    expect(agent.state('uid-modest')).toBe('Syncing.Settled');
  });

  test('of memory evicts the pod that uses more than it requested', async () => {
    await start('memory', MEMORY_PERCENT, join(bed.containerd.dir, 'turning'));
    // It exceeds its request even while it waits: the pressure may come from another process of this machine.
    const resources = { requests: { memory: '1Ki' }, limits: { memory: '32Mi' } };
    await addWithModest('greedy', THRASHING, { resources });
    await isEvicted('greedy');
    expect(statusOf('greedy')).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
    expect(statusOf('greedy')?.message).toContain(
      'The node was low on resource: memory. Threshold of memory.pressure.some.avg10: 8%, observed: ',
    );
    expect(agent.conditions()).toEqual(['MemoryPressure']);
    expect(firstEvicted()).toBe('greedy Evicted');
    expect(agent.state('uid-modest')).toBe('Syncing.Settled');
  });
});

function stalledPercent(resource: string): number {
  const text = readFileSync(`/proc/pressure/${resource}`, 'utf8');
  return Number(/^some avg10=([\d.]+)/u.exec(text)?.[1]);
}
