/** ConfigMaps and Secrets that come late or change under a pod, on a real API server, and how many watches that takes. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { Container, PodSpec } from '../../../src/types/kubernetes.ts';
import { type ClusterBed, describeOnCluster } from '../../support/cluster-suite.ts';
import { NODE_NAME } from '../../support/daemon.ts';
import { waitFor } from '../../support/wait-for.ts';

/** No test lasts so long: without a change, no pod is synced a second time. */
const config = { syncFrequency: '1h' };
const PODS = 100;
const DATA = { volumeMounts: [{ name: 'data', mountPath: '/data' }] };

/** A pod that ends once its file has the text. */
const follower = (cluster: ClusterBed, text: string, volume: object): Partial<PodSpec> => ({
  restartPolicy: 'Never',
  volumes: [{ name: 'data', ...volume }],
  containers: [cluster.shell(`until grep -qx ${text} /data/key; do sleep 0.1; done`, DATA)],
});
const set = (cluster: ClusterBed, kind: 'ConfigMap' | 'Secret', name: string, key: string, more = {}) =>
  cluster.controlPlane.apply({
    apiVersion: 'v1',
    kind,
    metadata: { name },
    [kind === 'Secret' ? 'stringData' : 'data']: { key },
    ...more,
  });
const phaseIs = (cluster: ClusterBed, name: string, phase: string) =>
  cluster.podIs(phase, name, ({ status }) => status?.phase === phase);

/** The watches of single ConfigMaps and Secrets that the API server has now, those of other programs too. */
async function watches(cluster: ClusterBed): Promise<number> {
  const metrics = await cluster.controlPlane.readText('/metrics');
  const ofOne = metrics
    .split('\n')
    .filter(
      (line) =>
        line.startsWith('apiserver_longrunning_requests{') &&
        /resource="(configmaps|secrets)"/u.test(line) &&
        line.includes('scope="resource"') &&
        line.includes('verb="WATCH"'),
    );
  return ofOne.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

const watchesAre = (cluster: ClusterBed, count: number) =>
  waitFor(async () => (await watches(cluster)) === count, { what: `${count} watches`, pauseMs: 250 });

/** Their number once those of the test before have ended: the server notices that a moment later. */
async function watchesAtRest(cluster: ClusterBed): Promise<number> {
  const seen: number[] = [];
  const { count } = await waitFor(
    async () => {
      seen.push(await watches(cluster));
      const [count = 0, ...others] = seen.slice(-8);
      return others.length === 7 && others.every((other) => other === count) && { count };
    },
    { what: 'the number of watches to stay the same', pauseMs: 250 },
  );
  return count;
}

describeOnCluster('objects that come late or change', { config }, (cluster) => {
  const kubectl = (...args: readonly string[]) => cluster.controlPlane.kubectl(...args);
  const reasonsOf = async (name: string) => [...new Set(await cluster.eventsOf(name))];
  const told = (name: string, reason: string) =>
    waitFor(async () => (await cluster.eventsOf(name)).includes(reason), {
      what: `the event ${reason} of ${name}`,
      pauseMs: 250,
    });

  const createAll = (names: readonly string[], spec: Partial<PodSpec>) =>
    cluster.controlPlane.apply(
      ...names.map((name) => ({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name },
        spec: { automountServiceAccountToken: false, nodeName: NODE_NAME, ...spec },
      })),
    );

  afterEach(async () => {
    await cluster.clear();
    await cluster.clearObjects();
  });

  test('a pod whose Secret is missing has an event, and goes on when it appears', async () => {
    const waits = (fields: Partial<Container>, more: Partial<PodSpec> = {}): Partial<PodSpec> => ({
      restartPolicy: 'Never',
      containers: [cluster.shell('exit 0', fields)],
      ...more,
    });
    const env = [{ name: 'KEY', valueFrom: { secretKeyRef: { name: 'late', key: 'key' } } }];
    await cluster.create(
      'of-volume',
      waits(DATA, { volumes: [{ name: 'data', secret: { secretName: 'late' } }] }),
    );
    await cluster.create('of-variable', waits({ env }));
    await told('of-volume', 'FailedMount');
    const { status } = await cluster.podIs('waiting', 'of-variable', (pod) =>
      Boolean(pod.status?.containerStatuses?.[0]?.state?.waiting?.message),
    );
    expect(status?.containerStatuses?.[0]?.state?.waiting).toEqual({
      reason: 'CreateContainerConfigError',
      message: 'secret "late" not found',
    });
    await set(cluster, 'Secret', 'late', 'there');
    for (const name of ['of-volume', 'of-variable']) await phaseIs(cluster, name, 'Succeeded');
    const [first, ...others] = await reasonsOf('of-volume');
    expect([first, ...others.slice(-3)]).toEqual(['FailedMount', 'Pulled', 'Created', 'Started']);
    expect((await reasonsOf('of-variable')).slice(-2)).toEqual(['Created', 'Started']);
  });

  test('a new value is in the files of the pods that refer to the object, although no sync is due', async () => {
    await set(cluster, 'ConfigMap', 'settings', 'old');
    await set(cluster, 'Secret', 'login', 'old');
    const volumes = {
      config: { configMap: { name: 'settings' } },
      secret: { secret: { secretName: 'login' } },
      projected: { projected: { sources: [{ configMap: { name: 'settings' } }] } },
    };
    for (const [name, volume] of Object.entries(volumes))
      await cluster.create(name, follower(cluster, 'new', volume));
    for (const name of Object.keys(volumes)) await phaseIs(cluster, name, 'Running');
    await set(cluster, 'ConfigMap', 'settings', 'new');
    await set(cluster, 'Secret', 'login', 'new');
    for (const name of Object.keys(volumes)) await phaseIs(cluster, name, 'Succeeded');
    expect(JSON.stringify(cluster.daemon.log)).not.toContain('bmV3');
  });

  test('an object that is deleted while a pod uses it stays in its files, and a new object with the name replaces it', async () => {
    await set(cluster, 'ConfigMap', 'settings', 'old');
    await cluster.create('follower', follower(cluster, 'new', { configMap: { name: 'settings' } }));
    await phaseIs(cluster, 'follower', 'Running');
    await kubectl('delete', 'configmap', 'settings');
    await told('follower', 'FailedMount');
    await set(cluster, 'ConfigMap', 'settings', 'new');
    await phaseIs(cluster, 'follower', 'Succeeded');
  });

  test('a hundred pods that refer to the same objects share one watch of each, until they are gone', async () => {
    await set(cluster, 'ConfigMap', 'shared', 'x');
    const waits = {
      // They never start: a hundred sandboxes are not what this is about.
      volumes: [
        { name: 'data', secret: { secretName: 'never' } },
        { name: 'more', configMap: { name: 'shared' } },
      ],
      containers: [cluster.shell('exit 0', DATA)],
    };
    const names = Array.from({ length: PODS }, (_, index) => `pod-${index}`);
    await createAll(names, waits);
    const selector = '--field-selector=reason=FailedMount';
    const waiting = async () => {
      const text = await kubectl('get', 'events', selector, '-o', 'jsonpath={.items[*].involvedObject.name}');
      return new Set(text.split(' ').filter((name) => names.includes(name))).size === PODS;
    };
    await waitFor(waiting, { what: 'every pod to wait for the Secret', pauseMs: 1_000, timeoutMs: 300_000 });
    // What ends with the pods, rather than what has come with them: watches of an earlier test may still have been counted then.
    const during = await watchesAtRest(cluster);
    await kubectl('delete', 'pods', '--all', '--wait=false');
    await watchesAre(cluster, during - 2);
  });

  test('an immutable object is not watched once a pod has it', async () => {
    await set(cluster, 'ConfigMap', 'settled', 'x', { immutable: true });
    await set(cluster, 'ConfigMap', 'changing', 'x');
    await cluster.create('reader', {
      volumes: [
        { name: 'data', configMap: { name: 'settled' } },
        { name: 'more', configMap: { name: 'changing' } },
      ],
      containers: [
        cluster.server({
          volumeMounts: [
            { name: 'data', mountPath: '/data' },
            { name: 'more', mountPath: '/more' },
          ],
        }),
      ],
    });
    await phaseIs(cluster, 'reader', 'Running');
    const during = await watchesAtRest(cluster);
    await cluster.clear();
    await watchesAre(cluster, during - 1);
  });

  describe.each(['Get', 'Cache'])('with the strategy %s', (strategy) => {
    test('nothing is watched, and a change is noticed at the next sync', async () => {
      await cluster.daemon.end();
      const before = await watchesAtRest(cluster);
      const own = JSON.parse(readFileSync(join(cluster.bed.dir, 'kubelet.json'), 'utf8')) as object;
      const file = join(cluster.bed.dir, `${strategy}.json`);
      const changed = { configMapAndSecretChangeDetectionStrategy: strategy, syncFrequency: '1s' };
      writeFileSync(file, JSON.stringify({ ...own, ...changed }));
      // So that the strategy Cache asks again at once.
      await kubectl('annotate', 'node', '--all', '--overwrite', 'node.alpha.kubernetes.io/ttl=0');
      await cluster.startDaemon('--config', file);
      await set(cluster, 'ConfigMap', 'settings', 'old');
      await cluster.create('follower', follower(cluster, 'new', { configMap: { name: 'settings' } }));
      await phaseIs(cluster, 'follower', 'Running');
      const areNotMore = async () => (await watches(cluster)) <= before;
      await waitFor(areNotMore, { what: `at most ${before} watches`, pauseMs: 250 });
      await set(cluster, 'ConfigMap', 'settings', 'new');
      await phaseIs(cluster, 'follower', 'Succeeded');
    });
  });
});
