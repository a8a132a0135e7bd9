/** Tokens of a real API server. Only time is not real: it issues no token for less than ten minutes. */
import { afterEach, beforeAll, expect, test } from '@jest/globals';
import { openApiClients } from '../../../../src/agent/cluster/client/open-api-clients.ts';
import { PodTokens } from '../../../../src/agent/cluster/objects/pod-tokens.ts';
import type { ApiObject } from '../../../../src/agent/cluster/service/api-server.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import type { TokenWish } from '../../../../src/types/api-objects.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { FixedCredentials } from '../../../support/api/fixed-credentials.ts';
import { ObservedConnection } from '../../../support/api/observed-connection.ts';
import { describeOnControlPlane } from '../../../support/control-plane.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { testContext } from '../../../support/test-context.ts';

interface TokenReview extends ApiObject {
  readonly spec: object;
  readonly status?: { readonly authenticated?: boolean; readonly user?: object };
}

const ACCOUNT = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name: 'robot', namespace: 'default' },
};

describeOnControlPlane('tokens of a real API server', (controlPlane) => {
  const opened: { close(): void }[] = [];
  afterEach(() => {
    for (const each of opened.splice(0)) each.close();
  });
  beforeAll(() => controlPlane.apply(ACCOUNT));

  function open() {
    const clients = openApiClients(new FixedCredentials(controlPlane.details()), new ObservedConnection(), {
      userAgent: 'statelet/test',
    });
    const clock = new VirtualClock(Date.now());
    const due: string[] = [];
    const tokens = new PodTokens(testContext({ clock }), clients.main, (uid) => due.push(uid));
    opened.push(tokens, clients);
    /** The server may need a moment to learn that the pod is on this node: then it is asked again a bit later. */
    const get = async (pod: Pod, wish: TokenWish): Promise<string> => {
      let token: string | undefined;
      const asked = tokens.get(pod, wish).then((answer) => (token = answer));
      await waitFor(async () => token ?? (await Promise.race([asked, clock.advance(100)])), {
        what: 'the token',
        pauseMs: 50,
      });
      return asked;
    };
    /** What the server itself says of the token. */
    const review = async (token: string, audience?: string) => {
      const spec = { token, ...(audience && { audiences: [audience] }) };
      const answer = await clients.main.create<TokenReview>({ resource: 'tokenreviews' }, { spec });
      return answer.status ?? {};
    };
    return { tokens, get, review, clock, due };
  }

  /** A node may ask for the tokens that volumes of its pods name, and for no others. */
  async function createPod(name: string, ...wishes: readonly TokenWish[]): Promise<Pod> {
    const sources = wishes.map((wish) => ({ serviceAccountToken: { path: 'token', ...wish } }));
    const spec = {
      volumes: [{ name: 'tokens', projected: { sources } }],
      nodeName: controlPlane.nodeName,
      serviceAccountName: 'robot',
      automountServiceAccountToken: false,
      containers: [{ name: 'main', image: 'x' }],
    };
    await controlPlane.apply({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'default' },
      spec,
    });
    return controlPlane.kubectlJson<Pod>('get', 'pod', name);
  }

  test('a token is bound to the pod and valid for its audience, until the pod is gone', async () => {
    const { get, review } = open();
    const wish = { audience: 'vault', expirationSeconds: 600 };
    const pod = await createPod('bound', wish);
    const token = await get(pod, wish);
    expect(await review(token, 'vault')).toMatchObject({
      authenticated: true,
      user: {
        username: 'system:serviceaccount:default:robot',
        extra: {
          'authentication.kubernetes.io/pod-name': ['bound'],
          'authentication.kubernetes.io/pod-uid': [pod.metadata.uid],
        },
      },
    });
    expect((await review(token)).authenticated).toBeUndefined();
    await controlPlane.kubectl('delete', 'pod', 'bound', '--force', '--grace-period=0');
    const isRefused = async () => (await review(token, 'vault')).authenticated !== true;
    await waitFor(isRefused, { what: 'the token to be refused', pauseMs: 250 });
  });

  test('a token of ten minutes is due after eight, and the server gives another one, with a life of its own', async () => {
    const { get, review, clock, due } = open();
    const wish = { expirationSeconds: 600 };
    const pod = await createPod('renewed', wish);
    // The server's clock goes on while the virtual one stands: the token is issued between these two times.
    const before = Date.now();
    const first = await get(pod, wish);
    const after = Date.now();
    await clock.advance(before + 470_000 - clock.now());
    expect(due).toEqual([]);
    expect(await get(pod, wish)).toBe(first);
    await clock.advance(after + 482_000 - clock.now());
    expect(due).toEqual([pod.metadata.uid]);
    const second = await get(pod, wish);
    expect(second).not.toBe(first);
    for (const token of [first, second]) expect((await review(token)).authenticated).toBe(true);
  });

  test('a service account that does not exist is named, and has tokens as soon as it is created', async () => {
    const { get } = open();
    const pod = await createPod('orphan', {});
    await controlPlane.kubectl('delete', 'serviceaccount', 'robot');
    await expect(get(pod, {})).rejects.toThrow('failed to fetch token: serviceaccounts "robot" not found');
    await controlPlane.apply(ACCOUNT);
    expect(await get(pod, {})).toMatch(/^ey/);
  });
});
