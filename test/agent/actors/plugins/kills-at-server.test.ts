/** Pods that plugins have chosen end through the API server: what is asked, and what its answers lead to. */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ApiError } from '../../../../src/agent/cluster/service/api-error.ts';
import { noAnswer, refusal, ScriptedApi } from '../../../support/answering-api.ts';
import { lastingPod } from '../eviction/eviction-bed.ts';
import { KillsBed } from './kills-bed.ts';

const web = lastingPod('web', { terminationGracePeriodSeconds: 20 });
const reclaimed = lastingPod('reclaimed', {
  annotations: { 'katalyst.kubewharf.io/qos_level': 'reclaimed_cores' },
});
const local = lastingPod('local', { annotations: { 'kubernetes.io/config.source': 'local' } });

const EVICT = 'create /default/pods/web/eviction';

let api: ScriptedApi;
let bed: KillsBed;

beforeEach(async () => {
  api = new ScriptedApi();
  api.answer = () => ({});
  bed = new KillsBed({ api, killers: { reclaimed_cores: 'DeletionAPI' } });
  await bed.start(web, reclaimed, local);
});
afterEach(() => bed.stop());

const later = (ms: number) => bed.ground.clock.advance(ms);
const refuse = (error: Error) => {
  api.answer = () => {
    throw error;
  };
};
const tooMany = (retryAfterMs?: number) =>
  new ApiError('the budget is spent', {
    status: 429,
    reason: 'TooManyRequests',
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });

describe('the request to the API server', () => {
  test('is an eviction of this pod only, with its grace period', async () => {
    bed.kill(web);
    await later(0);
    expect(api.requests).toEqual([
      {
        verb: 'create',
        path: '/api/v1/namespaces/default/pods/web/eviction',
        body: {
          apiVersion: 'policy/v1',
          kind: 'Eviction',
          metadata: { name: 'web', namespace: 'default' },
          deleteOptions: { gracePeriodSeconds: 20, preconditions: { uid: 'web' } },
        },
      },
    ]);
  });

  test('is a deletion if the level of the pod requires it', async () => {
    bed.kill(reclaimed, { gracePeriodSeconds: 0 });
    await later(0);
    expect(api.requests).toEqual([
      {
        verb: 'delete',
        path: '/api/v1/namespaces/default/pods/reclaimed',
        options: { gracePeriodSeconds: 1, uid: 'reclaimed' },
      },
    ]);
  });

  test('is not sent for a pod that the server does not know: the node itself ends the pod', async () => {
    bed.kill(local);
    await bed.untilState('local', 'Terminated.Finished');
    expect([api.requests, bed.killed]).toEqual([[], ['greed SyncPodKill']]);
  });
});

test('the kill lasts until the object is gone, after the end of the pod on this node', async () => {
  bed.kill(web);
  await later(0);
  expect([bed.view('web')?.state, bed.state('web')]).toEqual(['AwaitingEnd', 'Syncing.Settled']);
  expect(bed.events).toContain('web Warning Evicted: Eviction plugin greed chose this pod: it uses too much');
  bed.deleted(web);
  await bed.untilState('web', 'Terminated.Finished');
  expect(bed.kills.isUnderWay('web')).toBe(true);
  bed.gone(web);
  await bed.untilState('web', '');
  expect([bed.kills.views(), bed.killed]).toEqual([[], ['greed EvictionAPI']]);
});

test('an object that still exists long after the end of the pod is logged, without an event about the runtime', async () => {
  bed.kill(web);
  await later(0);
  bed.deleted(web);
  await bed.untilState('web', 'Terminated.Finished');
  await later(75_000);
  expect(bed.view('web')).toMatchObject({ state: 'Overdue', problem: 'it has not ended within 75 s' });
  expect(bed.warnings().at(-1)).toBe(
    'The pod that a plugin chose has ended on this node, but its object is still there: it has not ended within 75 s',
  );
  expect(bed.events.filter((event) => event.includes('ExceededGracePeriod'))).toEqual([]);
});

describe('an answer that is no success', () => {
  test('429 leads to another try after the delay that the server names', async () => {
    refuse(tooMany(7_000));
    bed.kill(web);
    await later(6_999);
    expect(api.taken()).toEqual([EVICT]);
    expect(bed.view('web')).toMatchObject({ state: 'BackingOff', problem: 'the budget is spent' });
    await later(1);
    expect(api.taken()).toEqual([EVICT]);
    api.answer = () => ({});
    await later(7_000);
    expect([api.taken(), bed.view('web')?.state]).toEqual([[EVICT], 'AwaitingEnd']);
    expect(bed.view('web')?.problem).toBeUndefined();
    expect(bed.warnings()).toHaveLength(1);
  });

  test('429 without a delay leads to further tries after longer and longer delays', async () => {
    refuse(tooMany());
    bed.kill(web);
    await later(5_000 + 10_000 + 20_000 + 40_000 + 60_000 + 60_000);
    expect(api.taken()).toHaveLength(7);
    expect(bed.evictions()).toEqual([]);
  });

  test('if the server is away, the request is repeated until it is back; the kill is shown all the time', async () => {
    refuse(noAnswer());
    bed.kill(web);
    await later(600_000);
    expect(bed.view('web')).toMatchObject({ state: 'BackingOff', problem: 'connect ECONNREFUSED' });
    expect([bed.state('web'), bed.warnings().length]).toEqual(['Syncing.Settled', 1]);
    api.answer = () => ({});
    await later(30_000);
    expect(bed.view('web')?.state).toBe('AwaitingEnd');
  });

  test.each(['Forbidden', 'Invalid'])(
    '%s is told with what would be right, and asked again slowly',
    async (reason) => {
      refuse(refusal(reason));
      bed.kill(web);
      await later(59_999);
      expect(api.taken()).toEqual([EVICT]);
      await later(1);
      expect(api.taken()).toEqual([EVICT]);
      expect(bed.warnings()).toEqual([
        expect.stringMatching(/: refused: \w+: .*create pods\/eviction in namespace default.*SyncPodKill/u),
      ]);
    },
  );

  test('an object that is absent is a success: the end of the pod here is awaited', async () => {
    refuse(refusal('NotFound'));
    bed.kill(web);
    await later(0);
    expect(bed.view('web')?.state).toBe('AwaitingEnd');
    bed.gone(web);
    await bed.untilState('web', '');
    expect([bed.kills.views(), bed.killed, bed.warnings()]).toEqual([[], [], []]);
  });

  test('a conflict is a success where another object has the name', async () => {
    api.answer = ({ verb }) => {
      if (verb === 'create') throw refusal('Conflict');
      return { metadata: { uid: 'of-another' } };
    };
    bed.kill(web);
    await later(0);
    expect([api.taken(), bed.view('web')?.state]).toEqual([[EVICT, 'get /default/pods/web'], 'AwaitingEnd']);
  });

  test('a conflict about the same object leads to another try soon', async () => {
    api.answer = ({ verb }) => {
      if (verb === 'create') throw refusal('Conflict');
      return { metadata: { uid: 'web' } };
    };
    bed.kill(web);
    await later(0);
    expect(bed.view('web')?.state).toBe('BackingOff');
    api.answer = () => ({});
    await later(1_000);
    expect(bed.view('web')?.state).toBe('AwaitingEnd');
  });
});

describe('a pod that another part ends meanwhile', () => {
  test('counts as ended by it: no further request is sent, and the kill ends with the pod on this node', async () => {
    refuse(tooMany(10_000));
    bed.kill(web);
    await later(0);
    api.taken();
    bed.hung.add('web');
    bed.agent.supervisor.registry.kill('web', { evict: true, podStatus: { phase: 'Failed', reason: 'X' } });
    await later(10_000);
    expect([api.taken(), bed.view('web')?.state]).toEqual([[], 'AwaitingEnd']);
    bed.hung.clear();
    bed.agent.supervisor.registry.kill('web', { podTerminationGracePeriodSecondsOverride: 1 });
    await bed.untilState('web', 'Terminated.Finished');
    expect([bed.kills.views(), bed.killed, api.taken()]).toEqual([[], [], []]);
  });

  test('by deleting its object: the kill lasts until the object is gone', async () => {
    refuse(tooMany(10_000));
    bed.kill(web);
    await later(0);
    bed.hung.add('web');
    bed.deleted(web);
    await later(10_000);
    bed.hung.clear();
    bed.agent.supervisor.registry.kill('web', { podTerminationGracePeriodSecondsOverride: 1 });
    await bed.untilState('web', 'Terminated.Finished');
    expect(bed.view('web')?.state).toBe('AwaitingEnd');
    bed.gone(web);
    await bed.untilState('web', '');
    expect(bed.kills.views()).toEqual([]);
  });

  test('a request that was carried out without an answer is not sent again', async () => {
    api.answer = () => {
      bed.deleted(web);
      throw noAnswer();
    };
    bed.hung.add('web');
    bed.kill(web);
    await later(60_000);
    expect(api.taken()).toEqual([EVICT]);
  });
});

test('a shorter grace period is sent to the server once more; the answer to that changes nothing about the first request', async () => {
  bed.kill(web);
  await later(0);
  bed.hung.add('web');
  bed.deleted(web);
  refuse(noAnswer());
  bed.kill(web, { gracePeriodSeconds: 2 });
  await later(0);
  expect(bed.view('web')?.state).toBe('BackingOff');
  api.answer = () => ({});
  await later(1_000);
  const graces = api.requests.map(({ body }) => (body as { deleteOptions: object }).deleteOptions);
  expect(graces).toEqual(
    [20, 2, 2].map((gracePeriodSeconds) => expect.objectContaining({ gracePeriodSeconds })),
  );
  expect([bed.view('web')?.state, bed.killed]).toEqual(['AwaitingEnd', ['greed EvictionAPI']]);
});

test('a shorter grace period before the answer: the request is aborted and sent anew, and its answer does not count', async () => {
  const signals: (AbortSignal | undefined)[] = [];
  const answers = [Promise.withResolvers<object>(), Promise.withResolvers<object>()] as const;
  api.answer = (_, signal) => answers[signals.push(signal) === 1 ? 0 : 1].promise;
  bed.kill(web);
  bed.kill(web, { gracePeriodSeconds: 2 });
  await later(0);
  expect(signals.map((signal) => signal?.aborted)).toEqual([true, false]);
  answers[0].reject(noAnswer());
  await later(0);
  expect(bed.view('web')).toMatchObject({ state: 'Requesting', problem: undefined });
  answers[1].resolve({});
  await later(0);
  expect(bed.view('web')?.state).toBe('AwaitingEnd');
});

test('after a stop, the request is aborted, and a late answer changes nothing', async () => {
  const answer = Promise.withResolvers<object>();
  let asked: AbortSignal | undefined;
  api.answer = (_, signal) => {
    asked = signal;
    return answer.promise;
  };
  bed.kill(web);
  await later(0);
  bed.kills.stop();
  expect(asked?.aborted).toBe(true);
  answer.resolve({});
  await later(60_000);
  expect([bed.killed, bed.evictions()]).toEqual([[], []]);
});
