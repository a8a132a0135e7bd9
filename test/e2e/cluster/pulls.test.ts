/** Private images on a real control plane and containerd, from a real registry that asks for a password. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Container, Pod } from '../../../src/types/kubernetes.ts';
import { describeOnCluster } from '../../support/cluster-suite.ts';
import { busyboxImage } from '../../support/containerd/images.ts';
import { type Registry, startRegistry } from '../../support/containerd/registry.ts';
import { containerStatus } from '../../support/daemon.ts';
import { waitFor } from '../../support/wait-for.ts';

const AUTH = { username: 'puller', password: 'not-for-logs' };
const WRONG = 'wrong-not-for-logs';
const SECRET = 'kubernetes.io/dockerconfigjson';
const OLDER_SECRET = 'kubernetes.io/dockercfg';
const AUDIENCE = 'registry.example';
const PLUGIN_VERSION = 'credentialprovider.kubelet.k8s.io/v1';

describeOnCluster('private images', { controlPlane: { with: ['kube-controller-manager'] } }, (cluster) => {
  let registry: Registry;
  let dir: string;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'statelet-pulls-'));
    mkdirSync(join(dir, 'bin'));
    registry = await startRegistry({ auth: AUTH });
  });
  afterAll(async () => {
    await registry.stop();
    rmSync(dir, { recursive: true });
  });
  afterEach(async () => {
    await cluster.clear();
    expect(JSON.stringify(cluster.daemon.log)).not.toMatch(/not-for-logs|eyJ/u);
    const events = await cluster.controlPlane.kubectl('get', 'events', '--output=json');
    expect(events).not.toMatch(/not-for-logs|eyJ/u);
  });

  const login = (password = AUTH.password) => ({ username: AUTH.username, password });
  const secret = (name: string, content: unknown, type = SECRET) =>
    cluster.controlPlane.apply({
      apiVersion: 'v1',
      kind: 'Secret',
      type,
      metadata: { name, namespace: 'default' },
      stringData: { [type === SECRET ? '.dockerconfigjson' : '.dockercfg']: JSON.stringify(content) },
    });
  const auths = (place: string, password?: string) => ({ auths: { [place]: login(password) } });
  const create = (
    name: string,
    image: string,
    secrets: readonly string[] = [],
    more: Partial<Container> = {},
  ) =>
    cluster.create(name, {
      imagePullSecrets: secrets.map((each) => ({ name: each })),
      containers: [cluster.server({ image, ...more })],
    });
  const waiting = (name: string, reason: string) =>
    cluster.podIs(
      `waiting: ${reason}`,
      name,
      (pod) => containerStatus(pod)?.state?.waiting?.reason === reason,
    );
  const messages = async (name: string, reason: string) =>
    (await cluster.wholeEventsOf(name, `reason=${reason}`)).map(({ message }) => message);
  /** The records of pulls on the node's disk, by the name of the image. */
  const records = () => {
    const folder = join(cluster.bed.rootDir, 'image_manager', 'pulled');
    const files = existsSync(folder) ? readdirSync(folder) : [];
    const all = files.map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as PulledRecord);
    return Object.assign(
      {},
      ...all.map(({ credentialMapping }) => credentialMapping),
    ) as PulledRecord['credentialMapping'];
  };
  /** An image of its own, so that no other test has pulled it. */
  const push = (name: string) => registry.push(`${name}:1`, busyboxImage(name, { Labels: { name } }));
  const nameOf = (image: string) => image.replace(/:1$/u, '');

  describe('with Secrets', () => {
    test('all Secrets of the pod are tried in order; a missing one is reported', async () => {
      const image = await push('team/app');
      await secret('wrong', auths(`${registry.host}/team`, WRONG));
      await secret('elsewhere', auths('registry.example'));
      await secret('right', auths(registry.host));
      await create('several', image, ['none', 'elsewhere', 'wrong', 'right', 'never']);
      await cluster.podIsReady('several');
      expect(await messages('several', 'FailedToRetrieveImagePullSecret')).toEqual([
        'Unable to retrieve some image pull secrets (none, never); attempting to pull the image may not succeed.',
      ]);
      const { metadata } = await cluster.controlPlane.kubectlJson<Pod>('get', 'secret', 'right');
      const { uid } = metadata;
      const right = {
        uid,
        namespace: 'default',
        name: 'right',
        credentialHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      };
      expect(records()[nameOf(image)]).toEqual({ kubernetesSecrets: [right] });
    });

    test('the older type works, and so do those of the service account, which the API server adds', async () => {
      await secret('older', { [registry.host]: login() }, OLDER_SECRET);
      await cluster.controlPlane.kubectl('create', 'serviceaccount', 'runner');
      const patch = JSON.stringify({ imagePullSecrets: [{ name: 'older' }] });
      await cluster.controlPlane.kubectl('patch', 'serviceaccount', 'runner', `--patch=${patch}`);
      await cluster.create('run-by', {
        serviceAccountName: 'runner',
        containers: [cluster.server({ image: await push('account') })],
      });
      const { spec } = await cluster.podIsReady('run-by');
      expect(spec.imagePullSecrets).toEqual([{ name: 'older' }]);
    });

    test('a Secret that appears late lets the pod run; a malformed one is reported without its content', async () => {
      const image = await push('late');
      await secret('malformed', { auths: { [registry.host]: { auth: 'not-for-logs' } } });
      await create('patient', image, ['malformed', 'late']);
      await waiting('patient', 'ImagePullBackOff');
      expect(await messages('patient', 'FailedToRetrieveImagePullSecret')).toEqual(
        expect.arrayContaining([
          'Unable to retrieve some image pull secrets (late); attempting to pull the image may not succeed.',
          `Unable to use image pull secret malformed: .dockerconfigjson: auths["${registry.host}"].auth: must be base64 of USER:PASSWORD; attempting to pull the image may not succeed.`,
        ]),
      );
      expect((await messages('patient', 'Failed')).join()).toContain('401 Unauthorized');
      await secret('late', auths(registry.host));
      await cluster.podIsReady('patient');
    });
  });

  describe('an image that is present', () => {
    test('is not for a pod without its credentials, also after the agent was killed', async () => {
      const image = await push('present');
      await secret('owner', auths(registry.host));
      await secret('stranger', auths(registry.host, WRONG));
      await create('owner', image, ['owner']);
      await cluster.podIsReady('owner');
      await cluster.daemon.end('SIGKILL');
      await cluster.startDaemon();

      await create('nobody', image);
      await create('stranger', image, ['stranger']);
      await create('never', image, [], { imagePullPolicy: 'Never' });
      await waiting('nobody', 'ImagePullBackOff');
      await waiting('stranger', 'ImagePullBackOff');
      await waiting('never', 'ErrImageNeverPull');
      expect(await messages('never', 'ErrImageNeverPull')).toEqual([
        `Container image "${image}" is not present with pull policy of Never`,
      ]);

      // The same credentials in another Secret: the registry is not asked.
      await secret('copy', auths(registry.host));
      const before = registry.requests('present').length;
      await create('friend', image, ['copy'], { imagePullPolicy: 'Never' });
      await cluster.podIsReady('friend');
      expect(await messages('friend', 'Pulled')).toEqual([
        `Container image "${image}" already present on machine and can be accessed by the pod`,
      ]);
      const asked = registry.requests('present').slice(before);
      expect(asked.filter((request) => request.endsWith(' 200'))).toEqual([]);
      expect(records()[nameOf(image)]?.kubernetesSecrets?.map(({ name }) => name)).toEqual(['copy', 'owner']);
    });

    test('and was there before the node: it is for all pods', async () => {
      await create('preloaded', cluster.bed.containerd.image);
      await cluster.podIsReady('preloaded');
      expect(Object.keys(records())).not.toContain('statelet.test/busybox');
    });

    test('a pull during which the agent is killed leaves an intent, which the next agent takes up', async () => {
      const image = await push('cut-off');
      await secret('owner', auths(registry.host));
      const pulling = join(cluster.bed.rootDir, 'image_manager', 'pulling');
      await registry.pause();
      try {
        await create('cut-off', image, ['owner']);
        await waitFor(() => readdirSync(pulling).length === 1, { what: 'the intent' });
        await cluster.daemon.end('SIGKILL');
      } finally {
        registry.resume();
      }
      expect(readdirSync(pulling)).toHaveLength(1);
      await cluster.startDaemon();
      await cluster.podIsReady('cut-off');
      await waitFor(() => readdirSync(pulling).length === 0, { what: 'the intent to be gone' });
      expect(records()[nameOf(image)]?.kubernetesSecrets).toHaveLength(1);
    });
  });

  describe('with plugins', () => {
    const plugin = (name: string, script: string) => {
      const path = join(dir, 'bin', name);
      writeFileSync(path, `#!/bin/sh\ncd ${dir}\n${script}\n`);
      chmodSync(path, 0o755);
    };
    const answer = (place: string) => {
      const content = {
        kind: 'CredentialProviderResponse',
        apiVersion: PLUGIN_VERSION,
        cacheKeyType: 'Image',
        auth: { [place]: login() },
      };
      return `cat <<'EOT'\n${JSON.stringify(content)}\nEOT`;
    };
    const provider = (name: string, path: string, more: object = {}) => ({
      name,
      apiVersion: PLUGIN_VERSION,
      matchImages: [`${registry.host}/${path}`],
      defaultCacheDuration: '1m',
      ...more,
    });
    const configure = (...providers: object[]) => {
      const head = { apiVersion: 'kubelet.config.k8s.io/v1', kind: 'CredentialProviderConfig' };
      writeFileSync(join(dir, 'providers.json'), JSON.stringify({ ...head, providers }));
    };
    const flags = () => [
      '--image-credential-provider-config',
      join(dir, 'providers.json'),
      '--image-credential-provider-bin-dir',
      join(dir, 'bin'),
    ];
    const tokenAttributes = {
      serviceAccountTokenAudience: AUDIENCE,
      requireServiceAccount: true,
      cacheType: 'ServiceAccount',
    };

    beforeAll(async () => {
      plugin('plain', `cat > plain.json\n${answer(`${registry.host}/plain`)}`);
      plugin('fails', 'echo no luck today >&2; exit 3');
      plugin('account', `cat > account.json\n${answer(registry.host)}`);
      configure(
        provider('fails', 'plain'),
        provider('plain', 'plain'),
        provider('account', 'account', { tokenAttributes }),
      );
      await cluster.daemon.end();
      await cluster.startDaemon(...flags());
      await cluster.nodeIsReady();
    });

    test('their credentials are used, and every pod may use the image; a failure is reported once', async () => {
      const image = await push('plain/app');
      await create('by-plugin', image);
      await cluster.podIsReady('by-plugin');
      expect(JSON.parse(readFileSync(join(dir, 'plain.json'), 'utf8'))).toEqual({
        kind: 'CredentialProviderRequest',
        apiVersion: PLUGIN_VERSION,
        image: nameOf(image),
      });
      expect(records()[nameOf(image)]).toEqual({ nodePodsAccessible: true });
      const told = cluster.daemon.log.filter(({ msg }) => msg.includes('no luck today'));
      expect(told.map(({ msg }) => msg)).toEqual([
        'Failed getting credential from external registry credential provider fails: error execing credential provider plugin: exit status 3: no luck today; images are pulled without its credentials',
      ]);
    });

    test('a plugin gets a token of the service account of the pod, and the image is for that account only', async () => {
      const kubectl = (...args: string[]) => cluster.controlPlane.kubectl(...args);
      const verb = 'request-serviceaccounts-token-audience';
      await cluster.controlPlane.apply(
        {
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind: 'ClusterRole',
          metadata: { name: 'tokens' },
          rules: [{ apiGroups: [''], resources: [AUDIENCE], verbs: [verb] }],
        },
        {
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind: 'ClusterRoleBinding',
          metadata: { name: 'tokens' },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'tokens' },
          subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:nodes' }],
        },
      );
      await kubectl('create', 'serviceaccount', 'trusted');
      const image = await push('account/app');
      const run = (name: string, serviceAccountName: string, imagePullPolicy = 'IfNotPresent') =>
        cluster.create(name, {
          serviceAccountName,
          containers: [cluster.server({ image, imagePullPolicy })],
        });
      await run('trusted', 'trusted');
      const { metadata } = await cluster.podIsReady('trusted');
      const request = JSON.parse(readFileSync(join(dir, 'account.json'), 'utf8')) as {
        serviceAccountToken: string;
      };
      const claims = JSON.parse(
        Buffer.from(request.serviceAccountToken.split('.')[1] ?? '', 'base64url').toString(),
      );
      expect(claims).toMatchObject({
        aud: [AUDIENCE],
        sub: 'system:serviceaccount:default:trusted',
        'kubernetes.io': { pod: { name: 'trusted', uid: metadata.uid } },
      });
      rmSync(join(dir, 'account.json'));
      expect(records()[nameOf(image)]?.kubernetesServiceAccounts?.map(({ name }) => name)).toEqual([
        'trusted',
      ]);
      await run('other', 'default', 'Never');
      await waiting('other', 'ErrImageNeverPull');
      await run('again', 'trusted', 'Never');
      await cluster.podIsReady('again');
    });

    test('a configuration that is wrong keeps the agent from starting', async () => {
      configure({ name: 'a/b', apiVersion: 'v9' });
      await cluster.daemon.end();
      const failing = cluster.startDaemon(...flags());
      await expect(failing).rejects.toThrow(
        /provider name cannot contain '\/'.*providers\.apiVersion: Unsupported value: .*"v9"/s,
      );
      configure(provider('plain', 'plain'));
      await cluster.startDaemon(...flags());
      await cluster.nodeIsReady();
    });
  });
});

interface PulledRecord {
  readonly credentialMapping: Readonly<
    Record<
      string,
      {
        readonly nodePodsAccessible?: boolean;
        readonly kubernetesSecrets?: readonly { readonly name: string }[];
        readonly kubernetesServiceAccounts?: readonly { readonly name: string }[];
      }
    >
  >;
}
