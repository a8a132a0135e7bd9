/** A plugin of the kit, asked over its socket by a client of another make. */
import { status } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  type EvictionPluginDefinition,
  type PluginQuestion,
  startEvictionPlugin,
  type TopEvictionPodsQuestion,
} from '../../src/eviction-plugin-kit/eviction-plugin-kit.ts';
import {
  EVICTION_PLUGIN_SERVICE,
  REGISTRATION_SERVICE,
} from '../../src/agent/plugins/protocol/service-methods.ts';
import { KitBed } from '../support/kit-bed.ts';
import { testPod } from '../support/pods.ts';
import { PATIENCE_MS } from '../support/wait-for.ts';

const { getToken, getEvictPods, thresholdMet, getTopEvictionPods } = EVICTION_PLUGIN_SERVICE;
const { getInfo, notifyRegistrationStatus } = REGISTRATION_SERVICE;
const pods = [
  testPod({ name: 'a', annotations: { note: 'kept' }, phase: 'Running' }),
  testPod({ name: 'b' }),
];
const question = { activePods: pods };

const RECORD = {
  uid: 'u1',
  hasPdb: true,
  buckets: [{ time: 1_893_456_000, duration: 600, count: 2 }],
  disruptionsAllowed: 1,
  currentHealthy: 4,
  desiredHealthy: 3,
  expectedPods: 5,
};

let bed: KitBed;
beforeEach(() => {
  bed = new KitBed();
});
afterEach(async () => bed.cleanUp());

async function asked(definition: Partial<EvictionPluginDefinition> = {}) {
  return bed.connect(await bed.start(definition));
}

describe('registration', () => {
  test('the plugin says what it is, and at which socket it is asked', async () => {
    const plugin = await bed.start({ name: 'chooser.1' });
    expect(await bed.connect(plugin).ask(getInfo, {})).toEqual({
      type: 'EvictionPlugin',
      name: 'chooser.1',
      endpoint: plugin.socket,
      supportedVersions: ['v1alpha1'],
    });
    expect(plugin).toMatchObject({ name: 'chooser.1', socket: `${bed.registryDir}/chooser.1.sock` });
  });

  test('it learns whether an agent has accepted it', async () => {
    const plugin = await bed.start();
    const client = bed.connect(plugin);
    expect(plugin.registration()).toBe('Waiting');
    await client.ask(notifyRegistrationStatus, { registered: false, error: 'no such version' });
    expect(plugin.registration()).toBe('Refused');
    expect(bed.log).toContain('chooser: an agent refuses it: no such version');
    await client.ask(notifyRegistrationStatus, { registered: true, error: '' });
    expect(plugin.registration()).toBe('Registered');
    expect(bed.log).toContain('chooser: an agent has registered it');
  });

  test('it has a token, which is empty', async () => {
    expect(await (await asked()).ask(getToken, {})).toEqual({ token: '' });
  });
});

describe('questions', () => {
  test('evictPods gets whole pods, and its answer comes back with whole pods', async () => {
    const given: PluginQuestion[] = [];
    const client = await asked({
      evictPods: async (one) => {
        given.push(one);
        await new Promise(setImmediate);
        expect(one.signal.aborted).toBe(false);
        const [pod] = one.activePods;
        return pod && { evictPods: [{ pod, reason: 'old', forceEvict: true, gracePeriodSeconds: 7 }] };
      },
    });
    const { evictPods, condition } = await client.ask(getEvictPods, question);
    expect(given[0]?.activePods).toMatchObject(pods);
    expect(given[0]?.signal.aborted).toBe(false);
    expect(evictPods).toMatchObject([
      { pod: pods[0], reason: 'old', forceEvict: true, deletionOptions: { gracePeriodSeconds: 7 } },
    ]);
    expect(condition).toBeUndefined();
  });

  test('thresholdMet answers with values, candidates and a condition', async () => {
    const condition = { name: 'Hot', effects: ['NoSchedule'], met: true };
    const client = await asked({
      thresholdMet: async ({ activePods: candidatePods }) =>
        Promise.resolve({
          metType: 'HARD_MET',
          scope: 'heat',
          thresholdValue: 80,
          observedValue: 81.5,
          operator: 'LESS_THAN',
          gracePeriodSeconds: 30,
          condition,
          candidatePods,
        }),
    });
    expect(await client.ask(thresholdMet, question)).toMatchObject({
      metType: 'HARD_MET',
      evictionScope: 'heat',
      thresholdValue: 80,
      observedValue: 81.5,
      thresholdOperator: 'LESS_THAN',
      gracePeriodSeconds: 30,
      condition: { conditionName: 'Hot', effects: ['NoSchedule'], metCondition: true },
      candidatePods: pods,
    });
  });

  test('topEvictionPods gets how many are wanted, and for what', async () => {
    const given: TopEvictionPodsQuestion[] = [];
    const client = await asked({
      topEvictionPods: (one) => {
        given.push(one);
        return { targetPods: one.activePods.slice(-one.topN), gracePeriodSeconds: 0 };
      },
    });
    const { buckets, ...record } = RECORD;
    const answer = await client.ask(getTopEvictionPods, {
      ...question,
      topN: 1,
      evictionScope: 'memory',
      candidateEvictionRecords: [{ ...record, buckets: { list: buckets } }],
    });
    expect(given).toMatchObject([{ topN: 1, scope: 'memory', records: [RECORD] }]);
    expect(answer).toMatchObject({ targetPods: [pods[1]], deletionOptions: { gracePeriodSeconds: 0 } });
  });

  test('functions that are left out answer that there is nothing', async () => {
    const client = await asked();
    expect(await client.ask(getEvictPods, question)).toMatchObject({ evictPods: [] });
    expect(await client.ask(thresholdMet, question)).toMatchObject({ metType: 'NOT_MET' });
    const top = { ...question, topN: 1, evictionScope: '', candidateEvictionRecords: [] };
    expect(await client.ask(getTopEvictionPods, top)).toMatchObject({ targetPods: [] });
  });

  test('the functions are called as those of their object', async () => {
    const definition = {
      reason: 'its own',
      evictPods({ activePods: [pod] }: PluginQuestion) {
        return pod && { evictPods: [{ pod, reason: this.reason }] };
      },
    };
    const { evictPods } = await (await asked(definition)).ask(getEvictPods, question);
    expect(evictPods).toMatchObject([{ reason: 'its own' }]);
  });

  test('five hundred large pods are no problem: gRPC by itself takes 4 MB', async () => {
    const env = Array.from({ length: 200 }, (_, i) => ({ name: `VARIABLE_${i}`, value: 'x'.repeat(60) }));
    const many = Array.from({ length: 500 }, (_, i) => {
      const pod = testPod({ name: `pod-${i}` });
      return { ...pod, spec: { ...pod.spec, containers: [{ name: 'main', env }] } };
    });
    const client = await asked({
      evictPods: ({ activePods }) => ({
        evictPods: activePods.slice(-1).map((pod) => ({ pod, reason: `${activePods.length} pods` })),
      }),
    });
    const { evictPods } = await client.ask(getEvictPods, { activePods: many });
    expect(evictPods).toMatchObject([{ reason: '500 pods', pod: { metadata: { name: 'pod-499' } } }]);
  });
});

describe('functions that misbehave', () => {
  const odd = (answer: unknown) => () => answer as undefined;
  test.each<[string, EvictionPluginDefinition['evictPods'], string]>([
    [
      'throws',
      () => {
        throw new Error('out of luck');
      },
      'out of luck',
    ],
    ['rejects', async () => Promise.reject(new Error('out of luck')), 'out of luck'],
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- a plugin may
    ['rejects with a text', async () => Promise.reject('out of luck'), 'out of luck'],
    ['answers nonsense', odd({ evictPods: 'all' }), 'evictPods has to be an array, and is "all"'],
    [
      'answers what cannot be written',
      odd({ evictPods: [{ pod: pods[0], reason: 'x'.repeat(10) }, null] }),
      'null',
    ],
  ])('one that %s: the agent gets an error, and the plugin goes on', async (_what, evictPods, message) => {
    const client = await asked({ ...(evictPods && { evictPods }), thresholdMet: () => undefined });
    await expect(client.ask(getEvictPods, question)).rejects.toMatchObject({
      code: status.UNKNOWN,
      details: expect.stringContaining(message),
    });
    expect(bed.log.join('\n')).toContain(message);
    expect(bed.log.join('\n')).toContain('/GetEvictPods failed: ');
    expect(await client.ask(thresholdMet, question)).toMatchObject({ metType: 'NOT_MET' });
  });

  test('a long message of an error is cut: it goes into a header', async () => {
    const client = await asked({
      evictPods: () => {
        throw new Error(`ä\n${'x'.repeat(100_000)}`);
      },
    });
    await expect(client.ask(getEvictPods, question)).rejects.toMatchObject({
      details: expect.stringMatching(/^ä\nx{1998}$/u),
    });
  });

  test('the signal aborts when the agent does not wait any longer', async () => {
    const began = Promise.withResolvers<AbortSignal>();
    const client = await asked({
      evictPods: async ({ signal }) => {
        began.resolve(signal);
        return new Promise(() => undefined);
      },
    });
    const agent = new AbortController();
    const answer = client.ask(getEvictPods, question, { signal: agent.signal });
    const canceled = expect(answer).rejects.toMatchObject({ code: status.CANCELLED });
    const signal = await began.promise;
    const aborted = new Promise((resolve) => {
      signal.addEventListener('abort', resolve, { once: true });
    });
    agent.abort();
    await canceled;
    await aborted;
    expect(String(signal.reason)).toContain('does not wait any longer');
  });

  test('a function that never comes to an end is not called without limit', async () => {
    let calls = 0;
    const released = Promise.withResolvers<undefined>();
    const client = await asked({
      evictPods: async () => {
        calls += 1;
        await released.promise;
        return undefined;
      },
      thresholdMet: () => undefined,
    });
    const stuck = Array.from({ length: 4 }, async () => client.ask(getEvictPods, question));
    await expect(client.ask(getEvictPods, question)).rejects.toMatchObject({
      code: status.RESOURCE_EXHAUSTED,
      details: 'evictPods still works on 4 earlier questions',
    });
    expect(await client.ask(thresholdMet, question)).toMatchObject({ metType: 'NOT_MET' });
    expect(calls).toBe(4);
    released.resolve(undefined);
    await Promise.all(stuck);
    expect(await client.ask(getEvictPods, question)).toMatchObject({ evictPods: [] });
  });

  test('stop ends what is under way, and can be called again', async () => {
    const began = Promise.withResolvers<AbortSignal>();
    const plugin = await bed.start({
      evictPods: async ({ signal }) => {
        began.resolve(signal);
        return new Promise(() => undefined);
      },
    });
    const answer = bed.connect(plugin).ask(getEvictPods, question, { deadlineMs: PATIENCE_MS });
    const failed = expect(answer).rejects.toMatchObject({ code: expect.any(Number) });
    const signal = await began.promise;
    await Promise.all([plugin.stop(), plugin.stop()]);
    expect(signal.aborted).toBe(true);
    await failed;
  });
});

describe('definitions that are refused', () => {
  const evictPods = () => undefined;
  test.each<[string, unknown, string]>([
    ['no name', { evictPods }, 'the name of a plugin has to be'],
    ['a path as name', { name: '../x', evictPods }, 'it is "../x"'],
    ['a name that agents pass over', { name: '.x', evictPods }, 'it is ".x"'],
    ['a name that is too long', { name: 'x'.repeat(64), evictPods }, 'has to be 1 to 63'],
    ['no function', { name: 'x' }, 'plugin x answers nothing'],
    [
      'a function that is none',
      { name: 'x', evictPods: 'all' },
      'evictPods of plugin x has to be a function',
    ],
  ])('%s', async (_what, definition, message) => {
    await expect(
      startEvictionPlugin(definition as EvictionPluginDefinition, { registryDir: bed.registryDir }),
    ).rejects.toThrow(message);
  });

  test('no folder: neither registryDir nor STATELET_ROOT_DIR', async () => {
    const before = process.env.STATELET_ROOT_DIR;
    delete process.env.STATELET_ROOT_DIR;
    try {
      await expect(startEvictionPlugin({ name: 'x', evictPods })).rejects.toThrow('set STATELET_ROOT_DIR');
    } finally {
      if (before !== undefined) process.env.STATELET_ROOT_DIR = before;
    }
  });
});
