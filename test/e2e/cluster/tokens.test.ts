/** Tokens of service accounts in the volumes of pods: what they say, who may read them, when they are renewed. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Container, Pod, PodSpec, TokenRequest } from '../../../src/types/kubernetes.ts';
import { ApiFaultProxy } from '../../support/api/fault-proxy.ts';
import { type ClusterBed, describeOnCluster } from '../../support/cluster-suite.ts';
import { waitFor } from '../../support/wait-for.ts';

const MESSAGE = '> /dev/termination-log';
const TOKEN_REQUESTS = { method: 'POST', path: /\/serviceaccounts\/robot\/token$/u };
const ACCOUNT = ['serviceaccount', 'robot'] as const;

type TokenSource = { readonly path: string; readonly audience?: string; readonly expirationSeconds?: number };

function withTokens(...sources: readonly TokenSource[]): Partial<PodSpec> {
  const projected = { sources: sources.map((serviceAccountToken) => ({ serviceAccountToken })) };
  return { serviceAccountName: 'robot', volumes: [{ name: 'tokens', projected }] };
}

const MOUNTED: Partial<Container> = { volumeMounts: [{ name: 'tokens', mountPath: '/tokens' }] };

async function messageOf(cluster: ClusterBed, name: string): Promise<string | undefined> {
  const { status } = await cluster.podIs('Succeeded', name, (pod) => pod.status?.phase === 'Succeeded');
  return status?.containerStatuses?.[0]?.state?.terminated?.message;
}

/** Half a minute is the least that a token is kept. */
const LIFE_SECONDS = 40;

const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;

// A sync that only comes after an hour cannot be what renews a token.
const options = {
  controlPlane: { with: ['kube-controller-manager'] },
  config: { syncFrequency: '1h' },
  // All that the log can have.
  flags: ['--v', '10'],
} as const;

describeOnCluster('tokens of service accounts', options, (cluster) => {
  const kubectl = (...args: string[]) => cluster.controlPlane.kubectl(...args);
  let proxy: ApiFaultProxy;

  beforeAll(() => kubectl('create', ...ACCOUNT));
  beforeEach(async () => {
    proxy = await new ApiFaultProxy(cluster.controlPlane).open();
    await cluster.daemon.end();
    await cluster.startDaemon('--kubeconfig', proxy.kubeconfig());
    await cluster.nodeIsReady();
  });
  afterEach(async () => {
    await cluster.clear();
    await proxy.close();
  });

  const read = (pod: Pod) => cluster.bed.exec(pod, ['cat', '/tokens/token']);

  /** The container's token, when it is another one. On the node, its file is read without a process for each look. */
  async function renewedToken(pod: Pod, before: string): Promise<string> {
    const volume = `pods/${pod.metadata.uid}/volumes/kubernetes.io~projected/tokens`;
    const file = join(cluster.bed.rootDir, volume, 'token');
    await waitFor(() => readFileSync(file, 'utf8') !== before, {
      what: 'another token in the file',
      pauseMs: 100,
    });
    return read(pod);
  }

  test('each has its audience and its life, and is bound to the pod and its UID', async () => {
    await cluster.create('reads', {
      ...withTokens(
        { path: 'api' },
        { path: 'vault', audience: 'vault', expirationSeconds: 600 },
        { path: 'dir/other', audience: 'other', expirationSeconds: 7200 },
      ),
      restartPolicy: 'Never',
      containers: [
        cluster.shell(
          `cd /tokens; (for t in api vault dir/other; do cut -d . -f 2 $t; done) ${MESSAGE}`,
          MOUNTED,
        ),
      ],
    });
    const message = (await messageOf(cluster, 'reads')) ?? '';
    const claims = message
      .trim()
      .split('\n')
      .map((payload) => claimsOf(`.${payload}`));
    const { uid } = (await cluster.pod('reads'))!.metadata;
    expect(claims.map(({ aud }) => aud)).toEqual([
      [expect.stringContaining('kubernetes.default.svc')],
      ['vault'],
      ['other'],
    ]);
    expect(claims.slice(1).map(({ exp, iat }) => Number(exp) - Number(iat))).toEqual([600, 7200]);
    for (const each of claims) {
      expect(each).toMatchObject({
        sub: 'system:serviceaccount:default:robot',
        'kubernetes.io': { pod: { name: 'reads', uid }, serviceaccount: { name: 'robot' } },
      });
    }
  });

  test('its file is for the user of the containers, and for the fsGroup; where neither is named, for all', async () => {
    const script = `stat -L -c '%a %u %g' /tokens/token ${MESSAGE}; cat /tokens/token > /dev/null`;
    const create = (
      name: string,
      securityContext: PodSpec['securityContext'],
      more: Partial<Container> = {},
    ) =>
      cluster.create(name, {
        ...withTokens({ path: 'token' }),
        ...(securityContext && { securityContext }),
        restartPolicy: 'Never',
        containers: [cluster.shell(script, { ...MOUNTED, ...more })],
      });
    await create('open', undefined);
    await create('owned', { runAsUser: 1000 });
    await create('shared', { runAsUser: 1000, runAsGroup: 1000, fsGroup: 2000 });
    await create('of-group', { fsGroup: 2000 });
    const modes = ['open', 'owned', 'shared', 'of-group'].map((name) => messageOf(cluster, name));
    expect(await Promise.all(modes)).toEqual([
      '644 0 0\n',
      '600 1000 0\n',
      '640 1000 2000\n',
      '640 0 2000\n',
    ]);
  });

  test('a token is renewed in the file before it expires, without any other sync; no log and no page has it', async () => {
    proxy.change<TokenRequest>(TOKEN_REQUESTS, ({ spec, status, ...rest }) => ({
      ...rest,
      spec: { ...spec, expirationSeconds: LIFE_SECONDS },
      status: {
        token: status?.token ?? '',
        expirationTimestamp: new Date(Date.now() + LIFE_SECONDS * 1000).toISOString(),
      },
    }));
    await cluster.create('keeps', {
      ...withTokens({ path: 'token' }),
      containers: [cluster.server(MOUNTED)],
    });
    const pod = await cluster.podIsReady('keeps');
    const first = await read(pod);
    const renewed = await renewedToken(pod, first);
    expect(renewed).not.toBe(first);
    expect(claimsOf(renewed)).toMatchObject({ 'kubernetes.io': { pod: { uid: pod.metadata.uid } } });
    const shown = JSON.stringify([cluster.daemon.log, await cluster.daemon.pods()]);
    for (const token of [first, renewed]) {
      const [, payload = '', signature = ''] = token.split('.');
      expect(shown).not.toContain(payload);
      expect(shown).not.toContain(signature);
    }
  });

  test('while it cannot be renewed the pod keeps it, and gets another one when the server gives one again', async () => {
    proxy.change<TokenRequest>(TOKEN_REQUESTS, ({ spec, ...rest }) => ({
      ...rest,
      // It is valid for an hour, and the last fifth of its life has begun.
      spec: { ...spec, expirationSeconds: 100_000 },
    }));
    await cluster.create('patient', {
      ...withTokens({ path: 'token' }),
      containers: [cluster.server(MOUNTED)],
    });
    const pod = await cluster.podIsReady('patient');
    const first = await read(pod);
    const refused = proxy.refuse(TOKEN_REQUESTS, 503);
    await refused.wasHit();
    await cluster.daemon.logged('that it was not renewed', ({ msg }) =>
      msg.startsWith('cannot renew a token of service account robot'),
    );
    expect(await read(pod)).toBe(first);
    refused.lift();
    expect(await renewedToken(pod, first)).not.toBe(first);
  });

  test('a pod whose service account is gone waits with an event; it starts when there is one', async () => {
    // The server takes no pod without its service account.
    await cluster.daemon.end();
    await cluster.create('early', {
      ...withTokens({ path: 'token' }),
      containers: [cluster.server(MOUNTED)],
    });
    await kubectl('delete', ...ACCOUNT);
    await cluster.startDaemon();
    await cluster.told(
      'early',
      'MountVolume.SetUp failed for volume "tokens" : failed to fetch token: serviceaccounts "robot" not found',
      'reason=FailedMount',
    );
    await kubectl('create', ...ACCOUNT);
    await cluster.podIsReady('early');
  });
});
