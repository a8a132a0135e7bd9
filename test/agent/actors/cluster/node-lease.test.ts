import { afterEach, describe, expect, test } from '@jest/globals';
import { createActor, createMachine } from 'xstate';
import { NodeLease } from '../../../../src/agent/actors/cluster/node-lease.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import type { Lease } from '../../../../src/types/kubernetes.ts';
import { NodeApi, refusal } from '../../../support/node-api.ts';
import { recordingLogger } from '../../../support/recording-logger.ts';
import { testContext } from '../../../support/test-context.ts';

const nothing = () => undefined;
const started: NodeLease[] = [];
afterEach(() => started.splice(0).forEach((lease) => lease.stop()));

function setUp(random = 0) {
  const clock = new VirtualClock();
  const api = new NodeApi(() => clock.now());
  const { logger, lines } = recordingLogger();
  // As in an agent, where the supervisor is the parent.
  const parent = createActor(createMachine({}), { clock }).start();
  const context = testContext({ clock, random: () => random, logger, parent });
  const lease = new NodeLease(context, {
    api,
    nodeName: 'node-1',
    leaseDurationSeconds: 40,
    timeoutMs: 10_000,
  });
  started.push(lease);
  lease.start();
  return { clock, api, lease, lines };
}

const renewTime = (api: NodeApi) => api.lease?.spec?.renewTime;

describe('the lease', () => {
  test('is not written before the Node object, its owner, is known', async () => {
    const { clock, api } = setUp();
    await clock.advance(60_000);
    expect(api.requests).toEqual([]);
  });

  test('is created with its owner and the duration of the settings', async () => {
    const { clock, api, lease } = setUp();
    lease.nodeKnown('uid-1');
    await clock.advance(0);
    expect(api.verbs).toEqual(['get lease', 'create lease']);
    expect(api.lease).toMatchObject({
      metadata: {
        name: 'node-1',
        namespace: 'kube-node-lease',
        ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'node-1', uid: 'uid-1' }],
      },
      spec: { holderIdentity: 'node-1', leaseDurationSeconds: 40, renewTime: '2030-01-01T00:00:00.000000Z' },
    });
  });

  test('is renewed every 10 s, without being read', async () => {
    const { clock, api, lease } = setUp();
    lease.nodeKnown('uid-1');
    await clock.advance(30_000);
    expect(api.verbs).toEqual(['get lease', 'create lease', 'update lease', 'update lease', 'update lease']);
    expect(renewTime(api)).toBe('2030-01-01T00:00:30.000000Z');
  });

  test('is renewed up to 4 % later, at random', async () => {
    const { clock, api, lease } = setUp(0.5);
    lease.nodeKnown('uid-1');
    await clock.advance(10_199);
    expect(api.verbs.at(-1)).toBe('create lease');
    await clock.advance(1);
    expect(api.verbs.at(-1)).toBe('update lease');
  });

  test('that exists is read once and renewed; fields that other clients have set stay', async () => {
    const { clock, api, lease } = setUp();
    api.putLease({ metadata: { name: 'node-1', labels: { a: 'b' } }, spec: { leaseTransitions: 2 } });
    lease.nodeKnown('uid-1');
    await clock.advance(0);
    expect(api.verbs).toEqual(['get lease', 'update lease']);
    expect(api.lease).toMatchObject({ metadata: { labels: { a: 'b' } }, spec: { leaseTransitions: 2 } });
  });

  test('each request has a time limit', async () => {
    const { clock, api, lease } = setUp();
    lease.nodeKnown('uid-1');
    await clock.advance(20_000);
    expect(api.requests.map(({ timeoutMs }) => timeoutMs)).toEqual([10_000, 10_000, 10_000, 10_000]);
  });
});

describe('if it fails', () => {
  test('reading is tried again after 0.2 s, doubling to 7 s, and the lease goes on when the server is back', async () => {
    const { clock, api, lease } = setUp();
    const begin = clock.now();
    api.fault = () => {
      throw refusal('InternalError');
    };
    lease.nodeKnown('uid-1');
    await clock.advance(26_000);
    const at = api.requests.map((request) => request.at - begin);
    expect(at).toEqual([0, 200, 600, 1400, 3000, 6200, 12_600, 19_600]);
    api.fault = undefined;
    await clock.advance(600);
    expect(api.verbs.slice(-2)).toEqual(['get lease', 'create lease']);
  });

  test('writing is tried five times at once, then read and written again', async () => {
    const { clock, api, lease } = setUp();
    lease.nodeKnown('uid-1');
    await clock.advance(5_000);
    api.requests.length = 0;
    api.fault = ({ verb }) => {
      if (verb === 'update') throw refusal('InternalError');
    };
    await clock.advance(5_000);
    const five = Array.from({ length: 5 }, () => 'update lease');
    expect(api.verbs).toEqual([...five, 'get lease', ...five]);
    await clock.advance(10_000);
    expect(api.verbs).toHaveLength(22);
  });

  test('a lease that another client has written is read and renewed', async () => {
    const { clock, api, lease } = setUp();
    lease.nodeKnown('uid-1');
    await clock.advance(5_000);
    api.putLease({ ...api.lease, spec: { ...api.lease?.spec, leaseTransitions: 1 } });
    api.requests.length = 0;
    await clock.advance(5_000);
    expect(api.verbs).toEqual(['update lease', 'get lease', 'update lease']);
    expect(api.lease).toMatchObject({
      spec: { leaseTransitions: 1, renewTime: '2030-01-01T00:00:10.000000Z' },
    });
  });

  test('a renewal whose answer is lost is found when the lease is read, and renewed again', async () => {
    const { clock, api, lease } = setUp();
    lease.nodeKnown('uid-1');
    await clock.advance(5_000);
    api.requests.length = 0;
    api.fault = ({ body }) => {
      api.fault = undefined;
      api.putLease(body as Lease);
      throw refusal('InternalError');
    };
    await clock.advance(5_000);
    expect(api.verbs).toEqual(['update lease', 'update lease', 'get lease', 'update lease']);
    expect(lease.current).toMatchObject({ state: 'Waiting', problem: undefined });
  });

  test('a lease that was deleted is created again', async () => {
    const { clock, api, lease } = setUp();
    lease.nodeKnown('uid-1');
    await clock.advance(5_000);
    api.lease = undefined;
    api.requests.length = 0;
    await clock.advance(5_000);
    expect(api.verbs).toEqual(['update lease', 'get lease', 'create lease']);
  });

  test('the same problem in several requests is logged once', async () => {
    const { clock, api, lease, lines } = setUp();
    lease.nodeKnown('uid-1');
    await clock.advance(0);
    api.fault = ({ verb }) => {
      throw new StateletError('Unavailable', `${verb.toUpperCase()} /x: connect ECONNREFUSED`);
    };
    await clock.advance(60_000);
    expect(lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
  });

  test('the same problem is one line of the log, however often it comes, and its end is another line', async () => {
    const { clock, api, lease, lines } = setUp();
    api.fault = () => {
      throw refusal('InternalError');
    };
    lease.nodeKnown('uid-1');
    await clock.advance(60_000);
    const problem = 'the server says InternalError';
    const since = Date.UTC(2030, 0, 1);
    expect(lease.current).toEqual({ state: 'BackingOff', since, renewedAt: undefined, problem });
    api.fault = undefined;
    await clock.advance(10_000);
    expect(lease.current).toMatchObject({ state: 'Waiting', problem: undefined });
    expect(lines.filter(({ level }) => level !== 'debug')).toEqual([
      {
        level: 'warn',
        message: "The node's lease could not be renewed, and is tried again: the server says InternalError",
      },
      { level: 'info', message: "The node's lease is renewed again" },
    ]);
  });
});

describe('if the Node object is lost', () => {
  test('the lease is not written any more, and is when the object is there again', async () => {
    const { clock, api, lease } = setUp();
    lease.nodeKnown('uid-1');
    await clock.advance(5_000);
    lease.nodeLost();
    await clock.advance(60_000);
    expect(api.verbs).toEqual(['get lease', 'create lease']);
    lease.nodeKnown('uid-2');
    await clock.advance(0);
    expect(api.verbs.slice(2)).toEqual(['get lease', 'update lease']);
  });

  test('a request under way is aborted, and its answer changes nothing', async () => {
    const { clock, api, lease } = setUp();
    let answer: () => void = nothing;
    api.fault = () => new Promise((resolve) => (answer = resolve));
    lease.nodeKnown('uid-1');
    await clock.advance(0);
    lease.nodeLost();
    api.fault = undefined;
    answer();
    await clock.advance(60_000);
    expect(api.verbs).toEqual(['get lease']);
    expect(api.lease).toBeUndefined();
  });
});

test('no timer is set after the stop', async () => {
  const { clock, lease } = setUp();
  lease.nodeKnown('uid-1');
  await clock.advance(5_000);
  lease.stop();
  expect(clock.armed).toBe(0);
});
