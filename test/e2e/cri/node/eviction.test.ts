/** Eviction of pods from a node with a shortage. The pods come from an API source, as static pods are never evicted. */
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, jest, test } from '@jest/globals';
import type { Container, Pod } from '../../../../src/types/kubernetes.ts';
import {
  type EvictingAgent,
  type EvictingAgentOptions,
  evictablePod,
  startEvictingAgent,
} from '../../../support/containerd/evicting-agent.ts';
import { SERVING } from '../../../support/cri-daemon.ts';
import { describeOnBed } from '../../../support/cri-suite.ts';
import { thresholds } from '../../../support/eviction.ts';
import { lockMachine } from '../../../support/machine-lock.ts';
import { waitFor } from '../../../support/wait-for.ts';

const MIB = 2 ** 20;
/** More than other processes on this machine probably use meanwhile. */
const MARGIN_MIB = 2048;
/** Uses more than that soon, and then slowly more, as other processes on this machine may free memory meanwhile. */
const TAKING =
  'for i in $(seq 12); do dd if=/dev/zero bs=512M count=1 | sleep 1000 & sleep $((i / 6 * 3)); done';
const GREED_PROCESSES = 3_000;
/** More than other tests start meanwhile: a control plane has a hundred threads. */
const MARGIN_PROCESSES = 1_500;
const GREED = `${TAKING}; ${SERVING}`;

describeOnBed('a shortage', (bed) => {
  let agent: EvictingAgent;

  afterEach(() => agent.cleanUp());

  async function start(options: EvictingAgentOptions): Promise<void> {
    agent = await startEvictingAgent(bed.containerd, options);
  }

  function pod(name: string, container: Partial<Container>, spec: Partial<Pod['spec']> = {}): Pod {
    return evictablePod(name, bed.server(container), spec);
  }

  const runs = (name: string) => agent.until(`uid-${name}`, 'Syncing.Settled');
  const statusOf = (name: string) => agent.statusManager.get(`uid-${name}`);
  const memoryLeft = (stats: EvictingAgent['stats'], lessMiB: number) => {
    const leftBytes = stats.memoryAvailable('memory.available')?.availableBytes ?? 0;
    return `${Math.floor(leftBytes / MIB) - lessMiB}Mi`;
  };
  const isEvicted = (name: string, look?: () => void) =>
    waitFor(
      () => {
        look?.();
        return agent.state(`uid-${name}`) === 'Terminated.Finished';
      },
      {
        what: `${name} to be evicted (it is in ${agent.state(`uid-${name}`)}); ${agent.log.slice(-5).join('; ')}`,
        pauseMs: 100,
      },
    );

  test('of memory evicts the pod that uses more than it requested, and rejects pods without a request', async () => {
    await start({
      settings: (stats) => {
        const evictionHard = { 'memory.available': memoryLeft(stats, MARGIN_MIB) };
        return { thresholds: thresholds({ evictionHard }), pressureTransitionPeriodMs: 600_000 };
      },
    });
    const resources = { requests: { memory: '256Mi' } };
    agent.add(pod('modest', { resources }));
    await runs('modest');
    agent.add(pod('greedy', { command: ['sh', '-c', GREED] }));
    await isEvicted('greedy');
    expect(statusOf('greedy')).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
    expect(statusOf('greedy')?.message).toMatch(
      /^The node was low on resource: memory\. Threshold quantity: \d+\w*, available: \d+\w*\. Container main was using \d+\w*, request is 0, has larger consumption of memory\. $/,
    );
    expect(statusOf('greedy')?.conditions).toContainEqual(
      expect.objectContaining({ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' }),
    );
    // If other processes have used so much meanwhile that the node is still short, the next pod follows.
    expect(agent.events.find((event) => event.endsWith(' Evicted'))).toBe('greedy Evicted');

    expect(agent.conditions()).toEqual(['MemoryPressure']);
    agent.add(pod('late', {}));
    await agent.until('uid-late', 'Terminated.Finished');
    expect(statusOf('late')?.message).toBe('Pod was rejected: The node had condition: [MemoryPressure]. ');
  });

  test('of disk evicts the pod that fills the disk', async () => {
    const disk = await bed.containerd.smallDisk('eviction', 64 * MIB);
    const rootDir = join(disk, 'root');
    mkdirSync(rootDir);
    const evictionHard = { 'nodefs.available': '40%' };
    await start({ rootDir, settings: () => ({ thresholds: thresholds({ evictionHard }) }) });
    const scratch = { volumes: [{ name: 'scratch', emptyDir: {} }] };
    const volumeMounts = [{ name: 'scratch', mountPath: '/scratch' }];
    const filling = `dd if=/dev/zero of=/scratch/file bs=1M count=48; ${SERVING}`;
    agent.add(pod('modest', { volumeMounts }, scratch));
    agent.add(pod('writer', { command: ['sh', '-c', filling], volumeMounts }, scratch));
    await isEvicted('writer');
    expect(statusOf('writer')).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
    expect(statusOf('writer')?.message).toContain('The node was low on resource: ephemeral-storage. ');
    expect(agent.conditions()).toEqual(['DiskPressure']);
    expect(agent.state('uid-modest')).toBe('Syncing.Settled');
  });

  test('of no resource evicts only a pod that exceeds its own limit', async () => {
    const rootDir = join(bed.containerd.dir, 'limits');
    await start({ rootDir, settings: () => ({ thresholds: [] }) });
    const scratch = { volumes: [{ name: 'scratch', emptyDir: { sizeLimit: '2Mi' } }] };
    const volumeMounts = [{ name: 'scratch', mountPath: '/scratch' }];
    const writing = (mib: number) => [
      'sh',
      '-c',
      `dd if=/dev/zero of=/scratch/file bs=1M count=${mib}; ${SERVING}`,
    ];
    const written = (name: string, mib: number) => {
      const file = join(rootDir, 'pods', `uid-${name}`, 'volumes/kubernetes.io~empty-dir/scratch/file');
      const isThere = () => existsSync(file) && statSync(file).size === mib * MIB;
      return waitFor(isThere, { what: `what ${name} writes` });
    };
    agent.add(pod('modest', { command: writing(1), volumeMounts }, scratch));
    agent.add(pod('writer', { command: writing(4), volumeMounts }, scratch));
    await Promise.all([runs('modest'), runs('writer'), written('modest', 1), written('writer', 4)]);
    await isEvicted('writer', agent.look);
    expect(statusOf('writer')).toMatchObject({
      phase: 'Failed',
      reason: 'Evicted',
      message: 'Usage of EmptyDir volume "scratch" exceeds the limit "2Mi". ',
    });
    expect(agent.conditions()).toEqual([]);
    expect(agent.state('uid-modest')).toBe('Syncing.Settled');
  });

  test('of process IDs evicts the pod with the most processes', async () => {
    const unlock = await lockMachine('processes');
    try {
      const evictionHard = { 'pid.available': `${processesLeft() - MARGIN_PROCESSES}` };
      await start({ settings: () => ({ thresholds: thresholds({ evictionHard }) }) });
      const forking = `for i in $(seq ${GREED_PROCESSES}); do sleep 1000 & done; ${SERVING}`;
      agent.add(pod('modest', {}));
      await runs('modest');
      agent.add(pod('forker', { command: ['sh', '-c', forking] }));
      await isEvicted('forker', agent.look);
      expect(statusOf('forker')).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
      expect(statusOf('forker')?.message).toContain('The node was low on resource: pids. ');
      expect(agent.conditions()).toEqual(['PIDPressure']);
      expect(agent.state('uid-modest')).toBe('Syncing.Settled');
    } finally {
      unlock();
    }
  });

  test.each([
    { longest: 'the allowed maximum', own: 30, most: 3, given: 3 },
    { longest: 'its own grace period', own: 2, most: 20, given: 2 },
  ])(
    'of memory, by a soft threshold, evicts the pod after the grace period of the threshold, with $longest to end',
    async ({ own, most, given }) => {
      await start({
        settings: (stats) => ({
          thresholds: thresholds({
            evictionSoft: { 'memory.available': memoryLeft(stats, MARGIN_MIB) },
            evictionSoftGracePeriod: { 'memory.available': '3s' },
          }),
          maxPodGracePeriodSeconds: most,
        }),
      });
      const stop = jest.spyOn(agent.runtime, 'stopContainer');
      const deaf = `trap "" TERM; ${TAKING}; sleep 1000`;
      const spec = { terminationGracePeriodSeconds: own };
      agent.add(pod('greedy', { command: ['sh', '-c', deaf] }, spec));
      await waitFor(() => agent.conditions().includes('MemoryPressure'), { what: 'MemoryPressure' });
      expect(agent.state('uid-greedy')).toBe('Syncing.Settled');
      expect(stop).not.toHaveBeenCalled();
      await isEvicted('greedy', agent.look);
      expect(stop.mock.calls.map(([, timeoutSeconds]) => timeoutSeconds)).toEqual([given]);
      expect(statusOf('greedy')?.message).toContain('The node was low on resource: memory. ');
    },
  );

  test('that comes and goes keeps the condition until the transition period has passed without it', async () => {
    const disk = await bed.containerd.smallDisk('flapping', 64 * MIB);
    const rootDir = join(disk, 'root');
    mkdirSync(rootDir);
    const evictionHard = { 'nodefs.available': '40%' };
    await start({
      rootDir,
      // Longer than a busy machine takes from one shortage to the next.
      settings: () => ({ thresholds: thresholds({ evictionHard }), pressureTransitionPeriodMs: 15_000 }),
    });
    const ballast = join(disk, 'ballast');
    for (const name of ['once', 'again']) {
      writeFileSync(ballast, Buffer.alloc(48 * MIB));
      await agent.looked();
      rmSync(ballast);
      await agent.looked();
      expect(agent.conditions()).toEqual(['DiskPressure']);
      agent.add(pod(name, {}));
      await agent.until(`uid-${name}`, 'Terminated.Finished');
      expect(statusOf(name)?.message).toBe('Pod was rejected: The node had condition: [DiskPressure]. ');
    }
    await waitFor(
      () => {
        agent.look();
        return agent.conditions().length === 0;
      },
      { what: 'the condition to go', pauseMs: 100 },
    );
    const told = agent.events.filter((event) => event.startsWith('node NodeHas'));
    expect(told).toEqual(['node NodeHasDiskPressure', 'node NodeHasNoDiskPressure']);
    agent.add(pod('after', {}));
    await runs('after');
  });
});

/** Of this machine. */
function processesLeft(): number {
  const bounds = ['pid_max', 'threads-max'].map((name) => readFileSync(`/proc/sys/kernel/${name}`, 'utf8'));
  const tasks = /\/(\d+)/.exec(readFileSync('/proc/loadavg', 'utf8'))?.[1];
  return Math.min(...bounds.map(Number)) - Number(tasks);
}
