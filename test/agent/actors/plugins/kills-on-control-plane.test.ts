/** Pods that plugins have chosen end through a real API server, with the rights of a node. */
import { afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { openApiClients } from '../../../../src/agent/cluster/client/open-api-clients.ts';
import type { ApiClients } from '../../../../src/agent/cluster/service/api-server.ts';
import type { PodKillerName } from '../../../../src/types/node-settings.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { FixedCredentials } from '../../../support/api/fixed-credentials.ts';
import { ObservedConnection } from '../../../support/api/observed-connection.ts';
import { describeOnControlPlane } from '../../../support/control-plane.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { lastingPod } from '../eviction/eviction-bed.ts';
import { KillsBed } from './kills-bed.ts';

describeOnControlPlane('a pod that a plugin has chosen', (controlPlane) => {
  let clients: ApiClients & { close(): void };
  let bed: KillsBed | undefined;

  beforeAll(async () => {
    const nodes = [controlPlane.nodeName, 'node-2'].map((name) => ({ metadata: { name } }));
    await controlPlane.apply(...nodes.map((node) => ({ apiVersion: 'v1', kind: 'Node', ...node })));
  });
  beforeEach(() => connect(controlPlane.details('node')));
  afterEach(async () => {
    await bed?.stop();
    bed = undefined;
    clients.close();
  });

  function connect(details: ReturnType<typeof controlPlane.details>): void {
    const credentials = new FixedCredentials(details);
    clients = openApiClients(credentials, new ObservedConnection(), { userAgent: 'statelet/test' });
  }

  const podNow = (name: string) => controlPlane.kubectlJson<Pod>('get', 'pod', name);

  /** On this node, and at the server, where it runs: a disruption budget does not count pods that wait. */
  async function running(name: string, killer: PodKillerName = 'EvictionAPI'): Promise<Pod> {
    await make(name, controlPlane.nodeName);
    const { metadata } = await podNow(name);
    // What runs is of the test's own making; the server has neither volumes nor images for it.
    const pod = { ...lastingPod(name, { terminationGracePeriodSeconds: 20 }), metadata };
    bed = new KillsBed({ api: clients.main, killers: { shared_cores: killer } });
    await bed.start(pod);
    return pod;
  }

  async function make(name: string, nodeName: string, more: object = {}): Promise<void> {
    await controlPlane.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'default', labels: { app: name }, ...more },
      spec: {
        nodeName,
        terminationGracePeriodSeconds: 20,
        containers: [{ name: 'main', image: 'main:1' }],
      },
    });
    await patchStatus('pod', name, {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True' }],
    });
  }

  async function patchStatus(kind: 'pod' | 'pdb', name: string, status: object): Promise<void> {
    const group = kind === 'pod' ? '/api/v1' : '/apis/policy/v1';
    const plural = kind === 'pod' ? 'pods' : 'poddisruptionbudgets';
    await controlPlane.patch(`${group}/namespaces/default/${plural}/${name}/status`, { status });
  }

  async function budget(name: string): Promise<void> {
    await controlPlane.apply({
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name, namespace: 'default' },
      spec: { minAvailable: 1, selector: { matchLabels: { app: name } } },
    });
  }

  /** What the disruption controller would say. */
  const allowed = (name: string, disruptionsAllowed: number) =>
    patchStatus('pdb', name, {
      observedGeneration: 1,
      disruptionsAllowed,
      currentHealthy: 1,
      desiredHealthy: 1,
      expectedPods: 1,
    });

  const view = (name: string) => bed!.kills.views().find(({ pod }) => pod === `default/${name}`);
  const reaches = (name: string, state: string) =>
    waitFor(() => view(name)?.state === state, {
      what: `the kill to be in ${state}, not ${JSON.stringify(view(name))}`,
    });

  test('is evicted: the server adds the reason of the disruption, and the kill lasts until the object is gone', async () => {
    const pod = await running('evicted');
    bed!.kill(pod, { gracePeriodSeconds: 7 });
    await reaches('evicted', 'AwaitingEnd');
    const ending = await podNow('evicted');
    expect(ending.metadata).toMatchObject({ uid: pod.metadata.uid, deletionGracePeriodSeconds: 7 });
    expect(ending.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'DisruptionTarget', reason: 'EvictionByEvictionAPI' }),
    );
    bed!.deleted(pod);
    await bed!.untilState(pod.metadata.uid, 'Terminated.Finished');
    expect(view('evicted')?.state).toBe('AwaitingEnd');
    bed!.gone(pod);
    await bed!.untilState(pod.metadata.uid, '');
    expect([bed!.kills.views(), bed!.killed, bed!.warnings()]).toEqual([[], ['greed EvictionAPI'], []]);
  });

  test('is deleted if its level requires it, with a shorter grace period when that is wanted', async () => {
    const pod = await running('deleted', 'DeletionAPI');
    bed!.kill(pod);
    await reaches('deleted', 'AwaitingEnd');
    expect((await podNow('deleted')).metadata.deletionGracePeriodSeconds).toBe(20);
    bed!.kill(pod, { gracePeriodSeconds: 3 });
    await waitFor(async () => (await podNow('deleted')).metadata.deletionGracePeriodSeconds === 3, {
      what: 'the shorter grace period',
    });
  });

  test('that a disruption budget protects is requested again when the server says, and goes when the budget allows it', async () => {
    await budget('protected');
    const pod = await running('protected');
    bed!.kill(pod);
    // The budget is new: no controller has looked at it.
    await reaches('protected', 'BackingOff');
    expect(view('protected')?.problem).toContain('disruption budget');
    await allowed('protected', 0);
    await bed!.ground.clock.advance(9_999);
    expect(view('protected')?.state).toBe('BackingOff');
    const since = view('protected')!.sinceMs;
    await bed!.ground.clock.advance(1);
    // Now the budget is known to be spent, and no delay is named.
    await waitFor(() => view('protected')?.state === 'BackingOff' && view('protected')!.sinceMs > since, {
      what: 'the second answer',
    });
    expect((await podNow('protected')).metadata.deletionTimestamp).toBeUndefined();
    await allowed('protected', 1);
    await bed!.ground.clock.advance(10_000);
    await reaches('protected', 'AwaitingEnd');
    expect((await podNow('protected')).metadata.deletionTimestamp).toBeDefined();
    expect(bed!.state(pod.metadata.uid)).toBe('Syncing.Settled');
  });

  test.each(['EvictionAPI', 'DeletionAPI'] as const)(
    'that is gone counts as ended by others (%s)',
    async (killer) => {
      const pod = await running(`gone-${killer.toLowerCase()}`, killer);
      await controlPlane.kubectl('delete', 'pod', pod.metadata.name, '--grace-period=0', '--force');
      bed!.kill(pod);
      await reaches(pod.metadata.name, 'AwaitingEnd');
      expect([bed!.killed, bed!.warnings()]).toEqual([[], []]);
      bed!.gone(pod);
      await bed!.untilState(pod.metadata.uid, '');
      expect(bed!.kills.views()).toEqual([]);
    },
  );

  test.each(['EvictionAPI', 'DeletionAPI'] as const)(
    'whose name another pod has taken leaves that one alone (%s)',
    async (killer) => {
      const pod = await running(`twice-${killer.toLowerCase()}`, killer);
      await controlPlane.kubectl('delete', 'pod', pod.metadata.name, '--grace-period=0', '--force');
      await make(pod.metadata.name, controlPlane.nodeName);
      bed!.kill(pod);
      await reaches(pod.metadata.name, 'AwaitingEnd');
      const other = await podNow(pod.metadata.name);
      expect(other.metadata.uid).not.toBe(pod.metadata.uid);
      expect(other.metadata.deletionTimestamp).toBeUndefined();
      expect([bed!.killed, bed!.warnings()]).toEqual([[], []]);
    },
  );

  test.each(['EvictionAPI', 'DeletionAPI'] as const)(
    'is refused to another node, which is told by name with what would be right (%s)',
    async (killer) => {
      controlPlane.addNode('node-2');
      clients.close();
      connect(controlPlane.detailsOf(controlPlane.ca.filesOf('node-2')));
      const pod = await running(`foreign-${killer.toLowerCase()}`, killer);
      bed!.kill(pod);
      await reaches(pod.metadata.name, 'BackingOff');
      expect(view(pod.metadata.name)?.problem).toMatch(/spec\.nodeName set to itself.*SyncPodKill/u);
      expect((await podNow(pod.metadata.name)).metadata.deletionTimestamp).toBeUndefined();
    },
  );

  test('waits for a server that is away, and goes when the server is back', async () => {
    const pod = await running('patient');
    await controlPlane.apiServer.stop();
    bed!.kill(pod);
    await reaches('patient', 'BackingOff');
    expect(bed!.state(pod.metadata.uid)).toBe('Syncing.Settled');
    await controlPlane.apiServer.start();
    // The first try may still meet the connection that broke.
    const isTaken = async () => {
      await bed!.ground.clock.advance(1_000);
      return view('patient')?.state === 'AwaitingEnd';
    };
    await waitFor(isTaken, { what: 'the server to take the request' });
    expect((await podNow('patient')).metadata.deletionTimestamp).toBeDefined();
  });
});
