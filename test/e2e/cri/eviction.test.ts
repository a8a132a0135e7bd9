/** Pods that go because the node runs short: of an API source, since static ones never do. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import type { EvictionParts } from '../../../src/actors/eviction-manager.ts';
import { resolveNodeSettings } from '../../../src/config/node-settings.ts';
import { openCriNode } from '../../../src/runtime/open-cri-node.ts';
import { openStatsProvider, type StatsProvider } from '../../../src/runtime/stats/stats-provider.ts';
import { systemClock } from '../../../src/runtime/system-clock.ts';
import type { Container, Pod } from '../../../src/types/kubernetes.ts';
import { testNode } from '../../support/admission.ts';
import { startAgent, type TestAgent } from '../../support/agent.ts';
import { describeWithContainerd, SET_UP_TIMEOUT_MS } from '../../support/containerd/suite.ts';
import { type CriDaemonBed, SERVE, SERVING, startCriBed } from '../../support/cri-daemon.ts';
import { settingsWith, thresholds } from '../../support/eviction.ts';
import { waitFor } from '../../support/wait-for.ts';

jest.setTimeout(120_000);

const MIB = 2 ** 20;
/** More than the rest of this machine is likely to take or to give back meanwhile. */
const GREED_MIB = 2048;
const MARGIN_MIB = 1024;
const PATIENCE_MS = 60_000;

describeWithContainerd('a node that runs short', () => {
  let bed: CriDaemonBed;
  let agent: TestAgent;
  let stats: StatsProvider | undefined;

  beforeAll(async () => {
    bed = await startCriBed();
  }, SET_UP_TIMEOUT_MS);
  afterAll(() => bed.tearDown(), SET_UP_TIMEOUT_MS);
  afterEach(async () => {
    await agent.cleanUp();
    await stats?.close();
  });

  interface Wanted {
    readonly rootDir?: string;
    readonly settings: (stats: StatsProvider) => Partial<EvictionParts['configuration']>;
  }

  async function start({ rootDir, settings }: Wanted): Promise<void> {
    const { endpoint, cgroupRoot } = bed.containerd;
    let folders = { rootDir: '', podLogsDir: '' };
    const logger = { trace, debug: trace, info: trace, warn: trace, error: trace };
    agent = await startAgent({
      ...(rootDir !== undefined && { rootDir }),
      openNode: ({ recorder, ...context }) => {
        folders = context;
        return openCriNode({
          ...{ ...context, endpoint, recorder, nodeName: 'node-a', facts: testNode() },
          reservations: { systemReserved: {}, kubeReserved: {} },
          settings: resolveNodeSettings({}, { cgroupRoot }, 'test'),
        });
      },
      eviction: (pods, { runtime }) => {
        const provider = openStatsProvider({
          ...{ nodeName: 'node-a', cgroupRoot, runtime, pods, logger, clock: systemClock },
          ...{ rootDir: folders.rootDir, podLogsDir: folders.podLogsDir },
        });
        stats = provider;
        return { configuration: settingsWith(settings(provider)), stats: () => Promise.resolve(provider) };
      },
    });
    agent.ready();
  }

  function pod(name: string, container: Partial<Container>, spec: Partial<Pod['spec']> = {}): Pod {
    const { image } = bed.containerd;
    return {
      metadata: { name, namespace: 'default', uid: `uid-${name}` },
      spec: {
        hostNetwork: true,
        restartPolicy: 'Always',
        terminationGracePeriodSeconds: 30,
        containers: [{ name: 'main', image, imagePullPolicy: 'IfNotPresent', command: SERVE, ...container }],
        ...spec,
      },
    };
  }

  const runs = (name: string) => agent.until(`uid-${name}`, 'Syncing.Settled');
  const statusOf = (name: string) => agent.statusManager.get(`uid-${name}`);
  const isEvicted = (name: string) =>
    waitFor(() => agent.state(`uid-${name}`) === 'Terminated.Finished', {
      what: `${name} to be evicted (it is in ${agent.state(`uid-${name}`)}); ${agent.log.slice(-5).join('; ')}`,
      timeoutMs: PATIENCE_MS,
    });

  test('of memory ends the pod that takes more than it requested, and turns away those that request none', async () => {
    await start({
      settings: (provider) => {
        const left = (provider.memoryAvailable('memory.available')?.availableBytes ?? 0) / MIB;
        const evictionHard = { 'memory.available': `${Math.floor(left) - MARGIN_MIB}Mi` };
        return { thresholds: thresholds({ evictionHard }), pressureTransitionPeriodMs: 600_000 };
      },
    });
    const resources = { requests: { memory: '256Mi' } };
    const greed = `dd if=/dev/zero bs=${GREED_MIB}M count=1 | sleep 1000 & ${SERVING}`;
    agent.add(pod('modest', { resources }));
    await runs('modest');
    agent.add(pod('greedy', { command: ['sh', '-c', greed] }));
    await isEvicted('greedy');
    expect(statusOf('greedy')).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
    expect(statusOf('greedy')?.message).toMatch(
      /^The node was low on resource: memory\. Threshold quantity: \d+\w*, available: \d+\w*\. Container main was using \d+\w*, request is 0, has larger consumption of memory\. $/,
    );
    expect(statusOf('greedy')?.conditions).toContainEqual(
      expect.objectContaining({ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' }),
    );
    expect(agent.events).toContain('greedy Evicted');
    expect(agent.state('uid-modest')).toBe('Syncing.Settled');

    expect(agent.conditions()).toEqual(['MemoryPressure']);
    agent.add(pod('late', {}));
    await agent.until('uid-late', 'Terminated.Finished');
    expect(statusOf('late')?.message).toBe('Pod was rejected: The node had condition: [MemoryPressure]. ');
  });

  test('of disk ends the pod that fills it', async () => {
    const disk = await bed.containerd.smallDisk('eviction', 64 * MIB);
    const rootDir = join(disk, 'root');
    mkdirSync(rootDir);
    const evictionHard = { 'nodefs.available': '40%' };
    await start({ rootDir, settings: () => ({ thresholds: thresholds({ evictionHard }) }) });
    const scratch = {
      volumes: [{ name: 'scratch', emptyDir: {} }],
    };
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
});

const trace = () => undefined;
