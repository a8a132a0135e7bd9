import { describe, expect, test } from '@jest/globals';
import { reviewAccess, reviewToken } from '../../../../src/agent/cluster/service/reviews.ts';
import { ApiError } from '../../../../src/agent/cluster/service/api-error.ts';
import type { Collection } from '../../../../src/agent/cluster/service/api-resources.ts';
import { requestAttributes } from '../../../../src/agent/policies/server/request-attributes.ts';
import { settled, VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { describeOnControlPlane } from '../../../support/control-plane.ts';
import { openApiClients } from '../../../../src/agent/cluster/client/open-api-clients.ts';
import { NEVER } from 'rxjs';

/** An API server that answers in turn. */
class Answers {
  readonly asked: unknown[] = [];
  readonly at: number[] = [];
  readonly clock = new VirtualClock(0);
  readonly controller = new AbortController();
  readonly #answers: (object | Error)[];

  constructor(...answers: (object | Error)[]) {
    this.#answers = answers;
  }

  create<T>(collection: Collection, object: T): Promise<T> {
    this.asked.push([collection.resource, object]);
    this.at.push(this.clock.now());
    const answer = this.#answers.shift() ?? new Error('not asked that often');
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer as T);
  }

  get timing() {
    return { clock: this.clock, random: () => 0, signal: this.controller.signal };
  }
}

const busy = new ApiError('busy', { status: 503, reason: 'ServiceUnavailable' });
const forbidden = new ApiError('no', { status: 403, reason: 'Forbidden' });

describe('the user of a token', () => {
  test('is requested with the token only', async () => {
    const user = { username: 'robot', uid: '7', groups: ['g'], extra: { 'example.com/x': ['1'] } };
    const api = new Answers({ status: { authenticated: true, user } });
    expect(await reviewToken(api, 'secret', api.timing)).toEqual({
      name: 'robot',
      uid: '7',
      groups: ['g'],
      extra: { 'example.com/x': ['1'] },
    });
    expect(api.asked).toEqual([['tokenreviews', { spec: { token: 'secret' } }]]);
  });

  test('is unknown unless the server authenticates the token', async () => {
    for (const status of [{ authenticated: false, user: { username: 'x' } }, { error: 'bad' }, undefined]) {
      const api = new Answers({ ...(status && { status }) });
      expect(await reviewToken(api, 't', api.timing)).toBeUndefined();
    }
  });
});

describe('the permission of a user', () => {
  const [attributes] = requestAttributes('GET', '/metrics', 'node-a');
  const user = { name: 'robot', uid: '7', groups: ['g'] };

  test('is requested with user and attributes, and is denied unless the server allows it', async () => {
    const api = new Answers({ status: { allowed: true } }, { status: { allowed: false } }, {});
    const ask = () => reviewAccess(api, user, attributes!, api.timing);
    expect([await ask(), await ask(), await ask()]).toEqual([true, false, false]);
    const resourceAttributes = {
      verb: 'get',
      version: 'v1',
      resource: 'nodes',
      subresource: 'metrics',
      name: 'node-a',
    };
    expect(api.asked[0]).toEqual([
      'subjectaccessreviews',
      { spec: { resourceAttributes, user: 'robot', uid: '7', groups: ['g'] } },
    ]);
  });

  test('is requested up to five times, after growing delays, while the server cannot answer', async () => {
    const api = new Answers(busy, busy, busy, busy, { status: { allowed: true } });
    const answer = reviewAccess(api, user, attributes!, api.timing);
    for (const ms of [500, 750, 1125, 1688]) {
      await settled();
      await api.clock.advance(ms);
    }
    expect(await answer).toBe(true);
    expect(api.at).toEqual([0, 500, 1250, 2375, 4063]);
  });

  test('fails with the last error, and at once where the server refuses or the agent ends', async () => {
    const last = new Answers(busy, busy, busy, busy, busy);
    const failed = reviewAccess(last, user, attributes!, last.timing).catch(String);
    for (const ms of [500, 750, 1125, 1688]) {
      await settled();
      await last.clock.advance(ms);
    }
    expect(await failed).toContain('busy');
    const refused = new Answers(forbidden);
    await expect(reviewAccess(refused, user, attributes!, refused.timing)).rejects.toThrow('no');
    const ended = new Answers(busy);
    const waiting = reviewAccess(ended, user, attributes!, ended.timing);
    await settled();
    ended.controller.abort();
    await expect(waiting).rejects.toThrow('aborted');
    expect(ended.clock.armed).toBe(0);
  });
});

describeOnControlPlane('a real API server', (controlPlane) => {
  test('authenticates the token of a service account, and authorizes its user', async () => {
    await controlPlane.apply(
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'scraper', namespace: 'default' } },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: 'scraper' },
        rules: [{ apiGroups: [''], resources: ['nodes/metrics'], verbs: ['get'] }],
      },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'scraper' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'scraper' },
        subjects: [{ kind: 'ServiceAccount', name: 'scraper', namespace: 'default' }],
      },
    );
    const token = await controlPlane.createToken('scraper');
    const details = controlPlane.details();
    const clients = openApiClients(
      { current: () => Promise.resolve(details), refused: () => undefined, changes: NEVER },
      { answered: () => undefined, unauthorized: () => undefined, failed: () => undefined },
      { userAgent: 'test' },
    );
    const timing = new Answers().timing;
    const user = await reviewToken(clients.main, token, timing);
    expect(user).toMatchObject({ name: 'system:serviceaccount:default:scraper' });
    expect(await reviewToken(clients.main, `${token}x`, timing)).toBeUndefined();
    const may = (path: string) =>
      reviewAccess(clients.main, user!, requestAttributes('GET', path, 'node-1')[0]!, timing);
    expect([await may('/metrics'), await may('/pods')]).toEqual([true, false]);
    clients.close();
  });
});
