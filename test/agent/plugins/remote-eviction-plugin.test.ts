import { afterEach, describe, expect, test } from '@jest/globals';
import { activePodsBytes, RemoteEvictionPlugin } from '../../../src/agent/plugins/remote-eviction-plugin.ts';
import {
  type ActivePodsRequest,
  activePodsRequest,
  type GetTopEvictionPodsRequest,
} from '../../../src/agent/plugins/protocol/eviction-plugin-messages.ts';
import { seededRandom } from '../../../src/simulation/plan/seeded-random.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { type PluginAnswers, PluginServer } from '../../support/plugin-server.ts';
import { randomPod } from '../../support/table-pods.ts';

const never = new AbortController().signal;
const pod = (name: string): Pod => ({
  metadata: { name, namespace: 'team', uid: `uid-${name}`, labels: { app: name } },
  spec: { nodeName: 'node-1', containers: [{ name: 'main', image: 'x', resources: {} }] },
  status: { phase: 'Running' },
});
const name = (of: string) => ({ name: of, namespace: 'team', uid: `uid-${of}`, nodeName: 'node-1' });
const activePods = { pods: [pod('a'), pod('b')] };
const question = { activePods, signal: never };
const condition = {
  conditionType: 'NODE_CONDITION',
  effects: ['NoSchedule'],
  conditionName: 'Pressure',
  metCondition: true,
} as const;
const standing = { name: 'Pressure', type: 'NODE_CONDITION', effects: ['NoSchedule'], met: true };
const notMet = {
  thresholdValue: 0,
  observedValue: 0,
  thresholdOperator: 'LESS_THAN',
  metType: 'NOT_MET',
  evictionScope: '',
  gracePeriodSeconds: 0,
  candidatePods: [],
} as const;

const after = <T>(_: unknown, answer: T): T => answer;

const stops: (() => void)[] = [];
afterEach(() => stops.splice(0).forEach((stop) => stop()));

async function pluginWith(answers: PluginAnswers): Promise<RemoteEvictionPlugin> {
  const server = await PluginServer.start(answers);
  const plugin = new RemoteEvictionPlugin({ name: 'rss', endpoint: server.socketPath });
  stops.push(
    () => plugin.close(),
    () => server.stop(),
  );
  return plugin;
}

describe('a plugin in another process', () => {
  test('is asked for its token', async () => {
    const plugin = await pluginWith({ getToken: () => ({ token: 'secret' }) });
    expect(plugin.name).toBe('rss');
    expect(await plugin.getToken(never)).toBe('secret');
  });

  test('gets the whole pods with each question', async () => {
    const asked: (ActivePodsRequest | GetTopEvictionPodsRequest)[] = [];
    const plugin = await pluginWith({
      thresholdMet: (request) => after(asked.push(request), notMet),
      getTopEvictionPods: (request) => after(asked.push(request), { targetPods: [] }),
      getEvictPods: (request) => after(asked.push(request), { evictPods: [] }),
    });
    await plugin.thresholdMet(question);
    await plugin.getTopEvictionPods({ ...question, topN: 3, evictionScope: 'memory' });
    await plugin.getEvictPods(question);
    const wanted = { activePods: activePods.pods };
    const top = { ...wanted, topN: 3, evictionScope: 'memory', candidateEvictionRecords: [] };
    expect(asked).toEqual([wanted, top, wanted]);
  });

  test('gets the pods of each pass, also where one has changed', async () => {
    const asked: unknown[] = [];
    const plugin = await pluginWith({
      getEvictPods: ({ activePods: pods }) =>
        after(asked.push(pods.map(({ metadata, status }) => [metadata.name, status?.phase])), {
          evictPods: [],
        }),
    });
    const [first, second] = [pod('a'), pod('b')];
    await plugin.getEvictPods({ activePods: { pods: [first, second] }, signal: never });
    const changed = { ...second, status: { phase: 'Failed' } };
    await plugin.getEvictPods({ activePods: { pods: [changed] }, signal: never });
    await plugin.getEvictPods({ activePods: { pods: [] }, signal: never });
    expect(asked).toEqual([
      [
        ['a', 'Running'],
        ['b', 'Running'],
      ],
      [['b', 'Failed']],
      [],
    ]);
  });

  test('says whether a threshold is met', async () => {
    const met = {
      thresholdValue: 0.9,
      observedValue: 0.95,
      thresholdOperator: 'GREATER_THAN',
      metType: 'HARD_MET',
      evictionScope: 'memory',
      gracePeriodSeconds: 60,
    } as const;
    const plugin = await pluginWith({
      thresholdMet: () => ({ ...met, condition, candidatePods: [pod('b')] }),
    });
    expect(await plugin.thresholdMet(question)).toStrictEqual({
      metType: 'HARD_MET',
      scope: 'memory',
      thresholdValue: 0.9,
      observedValue: 0.95,
      gracePeriodSeconds: 60,
      candidatePods: [name('b')],
      condition: standing,
    });
  });

  test('says that no threshold is met', async () => {
    const plugin = await pluginWith({ thresholdMet: () => notMet });
    expect(await plugin.thresholdMet(question)).toStrictEqual({
      metType: 'NOT_MET',
      scope: '',
      thresholdValue: 0,
      observedValue: 0,
      gracePeriodSeconds: 0,
      candidatePods: [],
    });
  });

  test.each([
    [{}, {}],
    [{ deletionOptions: { gracePeriodSeconds: 0 } }, { gracePeriodSeconds: 0 }],
    [{ deletionOptions: { gracePeriodSeconds: 7 } }, { gracePeriodSeconds: 7 }],
  ])('names the pods that should go first, with the options %o', async (options, grace) => {
    const plugin = await pluginWith({
      getTopEvictionPods: () => ({ targetPods: [pod('b'), pod('a')], ...options }),
    });
    const asked = { ...question, topN: 2, evictionScope: 'memory' };
    expect(await plugin.getTopEvictionPods(asked)).toStrictEqual({
      targetPods: [name('b'), name('a')],
      ...grace,
    });
  });

  test('names the pods that should go; an entry without a pod has one without a name', async () => {
    const entry = { reason: 'too large', evictionPluginName: 'rss' };
    const plugin = await pluginWith({
      getEvictPods: () => ({
        evictPods: [
          { ...entry, pod: pod('a'), forceEvict: true, deletionOptions: { gracePeriodSeconds: 5 } },
          { ...entry, forceEvict: true },
          { ...entry, pod: pod('b'), forceEvict: false },
        ],
        condition,
      }),
    });
    expect(await plugin.getEvictPods(question)).toStrictEqual({
      evictPods: [
        { pod: name('a'), reason: 'too large', forceEvict: true, gracePeriodSeconds: 5 },
        {
          pod: { namespace: '', name: '', uid: '', nodeName: '' },
          reason: 'too large',
          forceEvict: true,
        },
        { pod: name('b'), reason: 'too large', forceEvict: false },
      ],
      condition: standing,
    });
  });

  test('errors name the plugin, its socket and the call', async () => {
    const server = await PluginServer.start({
      getEvictPods: () => {
        throw new Error('no figures');
      },
    });
    const plugin = new RemoteEvictionPlugin({ name: 'rss', endpoint: server.socketPath });
    stops.push(
      () => plugin.close(),
      () => server.stop(),
    );
    const where = `eviction plugin rss (${server.socketPath})`;
    await expect(plugin.getEvictPods(question)).rejects.toMatchObject({
      kind: 'Unknown',
      message: `${where}: GetEvictPods: no figures`,
    });
    await expect(plugin.thresholdMet(question)).rejects.toMatchObject({
      kind: 'Unimplemented',
      message: `${where}: ThresholdMet: not offered`,
    });
    server.stop();
    await expect(plugin.getToken(never)).rejects.toMatchObject({ kind: 'Unavailable' });
    plugin.close();
    await expect(plugin.getToken(never)).rejects.toMatchObject({
      message: `${where}: GetToken: the connection was closed`,
    });
  });

  test('one that hangs is aborted with the signal', async () => {
    const abort = new AbortController();
    const plugin = await pluginWith({
      getEvictPods: () => {
        abort.abort(new Error('not in time'));
        return Promise.withResolvers<never>().promise;
      },
    });
    await expect(plugin.getEvictPods({ activePods, signal: abort.signal })).rejects.toMatchObject({
      kind: 'Canceled',
      message: expect.stringContaining('GetEvictPods: not in time'),
    });
  });
});

const pods = Array.from({ length: 20 }, (_, seed) => randomPod(seededRandom(seed)) as unknown as Pod);

test('the pods of a pass are written as the request has them', () => {
  expect(activePodsBytes({ pods })).toEqual(activePodsRequest.encode({ activePods: pods }));
  expect(activePodsBytes({ pods: [] }).length).toBe(0);
});

test('the same pass gives the same bytes, without writing them again', () => {
  const pass = { pods };
  expect(activePodsBytes(pass)).toBe(activePodsBytes(pass));
});

test('a pod that has not changed is not read again', () => {
  let reads = 0;
  const pod = pods[0]!;
  const watched = {
    ...pod,
    get metadata() {
      reads += 1;
      return pod.metadata;
    },
  };
  const first = activePodsBytes({ pods: [watched] });
  const once = reads;
  expect(once).toBeGreaterThan(0);
  expect(activePodsBytes({ pods: [watched] })).toEqual(first);
  expect(reads).toBe(once);
  activePodsBytes({ pods: [{ ...watched }] });
  expect(reads).toBeGreaterThan(once);
});
