/** Volumes of pods of a real API server in real containers: content, updates, failures, and what is left of them. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Container, Pod, PodSpec } from '../../../src/types/kubernetes.ts';
import { describeOnCluster } from '../../support/cluster-suite.ts';
import { containerStatus } from '../../support/daemon.ts';
import { keepFilesOnDisk } from '../../support/files-in-memory.ts';
import { waitFor } from '../../support/wait-for.ts';

type Volume = NonNullable<PodSpec['volumes']>[number];

// The volumes in memory are told from the others by their file system.
keepFilesOnDisk();

/** Nothing here may need the next regular sync of a pod. */
const SELDOM = { syncFrequency: '1h' };
const HOOK = new URL('../../support/die-at-step.ts', import.meta.url).href;

describeOnCluster(
  'volumes of pods of the API server',
  { config: SELDOM, controlPlane: { with: ['kube-controller-manager'] } },
  (cluster) => {
    const kubectl = (...args: string[]) => cluster.controlPlane.kubectl(...args);
    const object = (kind: string, name: string) => ({ apiVersion: 'v1', kind, metadata: { name } });
    const patch = (path: string, change: object) =>
      cluster.controlPlane.patch(`/api/v1/namespaces/default/${path}`, change);
    /** Runs a shell script in a container; resolves to the lines that it writes. */
    const sh = async (pod: Pod, script: string) =>
      (await cluster.bed.exec(pod, ['sh', '-c', `{ ${script}; } 2>&1; true`])).trimEnd().split('\n');
    const file = (name: string, content: string | Uint8Array) => {
      const path = join(cluster.bed.dir, name);
      writeFileSync(path, content);
      return path;
    };
    const mountsOf = (volumes: readonly Volume[]) =>
      volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
    /** A pod whose container mounts the volumes at `/<name>`, and serves. */
    const create = (
      name: string,
      volumes: readonly Volume[],
      { main = {}, ...spec }: Partial<PodSpec> & { readonly main?: Partial<Container> } = {},
      metadata: Partial<Pod['metadata']> = {},
    ) => {
      const container = cluster.server({ volumeMounts: mountsOf(volumes), ...main });
      return cluster.create(name, { volumes, containers: [container], ...spec }, metadata);
    };
    const failsWith = (name: string, text: string) => cluster.told(name, text, 'reason=FailedMount');

    beforeAll(async () => {
      const found = async () =>
        (await kubectl('get', 'serviceaccount,configmap', '-o', 'name')).split('\n').filter(Boolean).length >=
        2;
      await waitFor(found, { what: 'the default service account and kube-root-ca.crt' });
    });
    beforeEach(async () => {
      await cluster.controlPlane.apply(
        { ...object('ConfigMap', 'settings'), data: { color: 'blue', size: '7' } },
        { ...object('Secret', 'login'), stringData: { password: 'not-for-logs' } },
      );
    });
    afterEach(async () => {
      await cluster.clear();
      await cluster.clearObjects();
    });

    const SOURCES: readonly Volume[] = [
      {
        name: 'settings',
        configMap: {
          name: 'settings',
          defaultMode: 0o600,
          items: [
            { key: 'color', path: 'deep/er/color', mode: 0o444 },
            { key: 'size', path: 'size' },
          ],
        },
      },
      { name: 'login', secret: { secretName: 'login', defaultMode: 0o400 } },
      { name: 'absent', configMap: { name: 'absent', optional: true } },
      {
        name: 'info',
        downwardAPI: {
          items: [
            { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
            { path: 'memory', resourceFieldRef: { containerName: 'main', resource: 'limits.memory' } },
          ],
        },
      },
      {
        name: 'mixed',
        projected: {
          sources: [
            { configMap: { name: 'settings', items: [{ key: 'color', path: 'color' }] } },
            { secret: { name: 'login', items: [{ key: 'password', path: 'secrets/password' }] } },
            { secret: { name: 'login', items: [{ key: 'absent', path: 'x' }], optional: true } },
            { downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
            { serviceAccountToken: { path: 'token', expirationSeconds: 600 } },
          ],
        },
      },
    ];

    test('of every kind are read by a container, with modes, owner, group and read-only', async () => {
      await create(
        'reads',
        SOURCES,
        {
          main: { resources: { limits: { memory: '64Mi' } } },
          securityContext: { runAsUser: 1000, runAsGroup: 1000, fsGroup: 3000, supplementalGroups: [4000] },
        },
        { labels: { app: 'web' } },
      );
      const pod = await cluster.podIsReady('reads');
      const paths =
        '/settings/deep/er/color /settings/size /login/password /info/labels /info/memory /mixed/color /mixed/secrets/password /mixed/name';
      expect(await sh(pod, `for f in ${paths}; do cat $f; echo; done; ls /absent`)).toEqual([
        ...['blue', '7', 'not-for-logs', 'app="web"', String(64 << 20), 'blue', 'not-for-logs', 'reads'],
      ]);
      // The image has a group of its own.
      const groups = (await sh(pod, 'id -G'))[0]?.split(' ');
      expect(groups).toEqual(expect.arrayContaining(['1000', '3000', '4000']));
      const modes = '/settings/deep/er/color /settings/size /login/password /info/labels /mixed/token';
      expect(await sh(pod, `for f in ${modes}; do stat -Lc "%a %u:%g" $f; done`)).toEqual([
        ...['444 0:3000', '640 0:3000', '440 0:3000', '644 0:3000', '640 1000:3000'],
      ]);
      expect(
        await sh(pod, 'cut -d . -f 1 /mixed/token | wc -l; touch /settings/new; rm /login/..data'),
      ).toEqual([
        '1',
        'touch: /settings/new: Read-only file system',
        expect.stringContaining('Read-only file system'),
      ]);
      const mounts = await sh(
        pod,
        'grep -E " /(settings|login|info|mixed) " /proc/mounts | cut -d " " -f 1,2',
      );
      const inMemory = mounts.filter((line) => line.startsWith('tmpfs ')).map((line) => line.split(' ')[1]);
      expect(inMemory.toSorted()).toEqual(['/info', '/login', '/mixed']);
      expect(JSON.stringify(cluster.daemon.log)).not.toMatch(/not-for-logs|bm90LWZvci1sb2dz/);
    });

    test('are brought up to date when their objects change, all files at once; a subPath is not', async () => {
      const volumes = [SOURCES[0]!, SOURCES[1]!];
      const volumeMounts = [
        ...mountsOf(volumes),
        { name: 'settings', mountPath: '/part', subPath: 'deep/er/color' },
      ];
      await create('follows', volumes, { main: { volumeMounts } });
      const pod = await cluster.podIsReady('follows');
      const reads = (script: string, text: string) =>
        waitFor(async () => (await sh(pod, script))[0] === text, { what: `${script} to show ${text}` });
      await patch('configmaps/settings', { data: { color: 'green', size: '8' } });
      await reads('cd /settings/..data; cat deep/er/color size', 'green8');
      await patch('secrets/login', { stringData: { password: 'changed' } });
      await reads('cat /login/password', 'changed');
      expect(await sh(pod, 'cat /part; echo; ls -A /settings | grep -c ^..2')).toEqual(['blue', '1']);

      // What cannot be brought up to date stays; a restart of the container is not held up by it.
      await kubectl(
        'patch',
        'configmap',
        'settings',
        '--type=json',
        '-p',
        '[{"op":"remove","path":"/data/size"}]',
      );
      await failsWith(
        'follows',
        'MountVolume.SetUp failed for volume "settings" : configmap references non-existent config key: size',
      );
      expect(await sh(pod, 'cat /settings/size')).toEqual(['8']);
      expect((await cluster.podIsReady('follows')).metadata.uid).toBe(pod.metadata.uid);
    });

    test('of the downward API follow labels and annotations of the running pod', async () => {
      const items = [
        { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
        { path: 'tier', fieldRef: { fieldPath: "metadata.annotations['tier']" } },
      ];
      await create('labelled', [{ name: 'info', downwardAPI: { items } }], {}, { labels: { app: 'web' } });
      const pod = await cluster.podIsReady('labelled');
      await kubectl('label', 'pod', 'labelled', 'app=shop', '--overwrite');
      await kubectl('annotate', 'pod', 'labelled', 'tier=gold');
      await waitFor(async () => (await sh(pod, 'cd /info/..data; cat labels tier'))[0] === 'app="shop"gold', {
        what: 'the files to follow',
      });
      const id = ({ status }: Pod) => status?.containerStatuses?.[0]?.containerID;
      expect(id(await cluster.podIsReady('labelled'))).toBe(id(pod));
    });

    test('that fail are reported one by one; the pod goes on at once when the last object appears', async () => {
      await create('waits', [
        { name: 'one', secret: { secretName: 'late-one' } },
        { name: 'two', configMap: { name: 'late-two' } },
        SOURCES[0]!,
      ]);
      await failsWith('waits', 'MountVolume.SetUp failed for volume "one" : secret "late-one" not found');
      await failsWith('waits', 'MountVolume.SetUp failed for volume "two" : configmap "late-two" not found');
      // Other pods do not wait for it.
      await create('beside', [SOURCES[0]!]);
      await cluster.podIsReady('beside');
      const waiting = await cluster.pod('waits');
      expect(containerStatus(waiting!)?.state?.waiting).toEqual({ reason: 'ContainerCreating' });
      await cluster.controlPlane.apply(
        { ...object('Secret', 'late-one'), stringData: { a: '1' } },
        { ...object('ConfigMap', 'late-two'), data: { b: '2' } },
      );
      expect(await sh(await cluster.podIsReady('waits'), 'cat /one/a /two/b')).toEqual(['12']);
    });

    test('with large objects, binary data, many keys and equal paths are what the objects say', async () => {
      const binary = Uint8Array.from({ length: 1_000_000 }, (_, index) => index % 251);
      await kubectl('create', 'secret', 'generic', 'big', `--from-file=bin=${file('big', binary)}`);
      await kubectl(
        'create',
        'configmap',
        'binary',
        `--from-file=bin=${file('small', Uint8Array.of(0, 255, 254))}`,
      );
      // Of ten thousand: test/agent/runtime/volumes/kinds.
      const lines = Array.from({ length: 1_000 }, (_, index) => `key.${index}=${index}`);
      await kubectl('create', 'configmap', 'many', `--from-env-file=${file('many', lines.join('\n'))}`);
      const items = [
        { key: 'color', path: 'same' },
        { key: 'size', path: './same' },
      ];
      await create('large', [
        { name: 'big', secret: { secretName: 'big' } },
        { name: 'binary', configMap: { name: 'binary' } },
        { name: 'many', configMap: { name: 'many' } },
        { name: 'twice', configMap: { name: 'settings', items } },
      ]);
      const pod = await cluster.podIsReady('large');
      const script =
        'wc -c < /big/bin; ls /many | wc -l; cat /many/key.999; echo; od -An -tx1 /binary/bin; cat /twice/same; echo; ls /twice';
      expect((await sh(pod, script)).map((line) => line.trim())).toEqual([
        ...['1000000', '1000', '999', '00 ff fe', '7'],
        'same',
      ]);
    });

    test('that can never be mounted are reported in the words of the kubelet, and their pods end cleanly when deleted', async () => {
      const ofPath = (name: string, ...paths: readonly string[]) =>
        create(name, [
          {
            name: 'data',
            configMap: { name: 'settings', items: paths.map((path) => ({ key: 'color', path })) },
          },
        ]);
      await ofPath('long-name', 'x'.repeat(256));
      await ofPath('long-path', 'x/'.repeat(2100) + 'x');
      await ofPath('file-and-folder', 'a', 'a/b');
      await create('missing', [{ name: 'data', secret: { secretName: 'never' } }]);
      const failed = 'MountVolume.SetUp failed for volume "data" : ';
      const invalid = `${failed}invalid path: `;
      await failsWith('long-name', `${invalid}filenames must be less than or equal to 255 characters`);
      await failsWith('long-path', `${invalid}must be less than or equal to 4096 characters`);
      await failsWith('file-and-folder', failed);
      await failsWith('missing', `${failed}secret "never" not found`);
      await cluster.clear();
      await waitFor(async () => (await cluster.bed.leftBehind()).length === 0, {
        what: 'nothing to be left',
      });
    });

    test('do not let a container out by a link that it has created', async () => {
      const volumes = [{ name: 'own', emptyDir: {} }];
      const links = 'ln -s / /own/root; ln -s ../../../../../etc /own/etc; mkdir /own/in; ln -s in /own/fine';
      const mount = (name: string, subPath: string) =>
        cluster.create(name, {
          volumes,
          initContainers: [cluster.shell(links, { name: 'init', volumeMounts: mountsOf(volumes) })],
          containers: [cluster.server({ volumeMounts: [{ name: 'own', mountPath: '/x', subPath }] })],
        });
      await mount('to-root', 'root/etc');
      await mount('to-etc', 'etc');
      await mount('within', 'fine');
      for (const name of ['to-root', 'to-etc']) {
        const pod = await cluster.podIs(
          'refused',
          name,
          (found) => containerStatus(found)?.state?.waiting?.reason === 'CreateContainerConfigError',
        );
        expect(containerStatus(pod)?.state?.waiting?.message).toBe(
          'failed to prepare subPath for volumeMount "own" of container "main"',
        );
      }
      const pod = await cluster.podIsReady('within');
      expect(await sh(pod, 'touch /x/here; ls /x')).toEqual(['here']);
    });

    test('are completed by the next agent, wherever the last one was killed, and nothing is left of them', async () => {
      let deaths = 0;
      for (let step = 1; step < 60; step += 9) {
        await cluster.daemon.end('SIGKILL');
        const name = `killed-${step}`;
        await create(name, SOURCES);
        const env = { NODE_OPTIONS: `--import=${HOOK}`, DIE_BELOW: '/volumes/', DIE_AT: String(step) };
        const doomed = cluster.launchDaemon(env);
        const outcome = await Promise.race([doomed.ended, cluster.podIsReady(name)]);
        if (outcome === 'SIGKILL') deaths++;
        else await doomed.end('SIGKILL');
        await cluster.startDaemon();
        const pod = await cluster.podIsReady(name);
        expect(
          await sh(pod, 'cat /settings/size /mixed/color /login/password; ls -A /login | wc -l'),
        ).toEqual(['7bluenot-for-logs3']);
      }
      expect(deaths).toBeGreaterThan(4);
      await cluster.clear();
      await waitFor(async () => (await cluster.bed.leftBehind()).length === 0, {
        what: 'nothing to be left',
      });
    });
  },
);
