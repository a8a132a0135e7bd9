import { afterEach, describe, expect, test } from '@jest/globals';
import { createActor, createMachine } from 'xstate';
import { ConditionTaints } from '../../../../src/agent/actors/plugins/condition-taints.ts';
import {
  taintedNode,
  TaintedCustomNodeResource,
} from '../../../../src/agent/actors/plugins/tainted-objects.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import type { PluginCondition } from '../../../../src/types/eviction-plugin.ts';
import type { Node } from '../../../../src/types/kubernetes.ts';
import { KatalystApi } from '../../../support/katalyst-api.ts';
import { NodeApi, refusal } from '../../../support/node-api.ts';
import { RecordedMeasurements } from '../../../support/recorded-measurements.ts';
import { recordingLogger } from '../../../support/recording-logger.ts';
import { testContext } from '../../../support/test-context.ts';

const OTHERS = [
  { key: 'dedicated', value: 'x', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute', timeAdded: '2029-01-01T00:00:00Z' },
];
const PRESSURE = condition('MemoryPressure');
const TAINT = { key: 'katalyst.kubewharf.io/MemoryPressure', effect: 'NoSchedule' };

function condition(name: string, more: Partial<PluginCondition> = {}): PluginCondition {
  return { name, type: 'NODE_CONDITION', effects: ['NoSchedule'], met: true, ...more };
}

const started: ConditionTaints[] = [];
afterEach(() => started.splice(0).forEach((taints) => taints.stop()));

/** The node is watched as it is, unless `seen` is set. */
function setUp(taints: readonly object[] = OTHERS, conditionTransitionPeriodMs = 0) {
  const clock = new VirtualClock();
  const api = new NodeApi(() => clock.now());
  api.putNode({
    metadata: { name: 'node-1' },
    spec: { taints: taints as NonNullable<Node['spec']>['taints'] },
  });
  const { logger, lines } = recordingLogger();
  const it = { conditions: [] as PluginCondition[], seen: undefined as (() => Node | undefined) | undefined };
  const parent = createActor(createMachine({}), { clock }).start();
  const actor = new ConditionTaints(testContext({ clock, logger, parent }), {
    object: taintedNode({
      api,
      nodeName: 'node-1',
      node: () => (it.seen ? it.seen() : api.node),
    }),
    conditions: { conditions: () => it.conditions },
    conditionTransitionPeriodMs,
  });
  started.push(actor);
  actor.start();
  const messages = (level: string) =>
    lines.filter((line) => line.level === level).map(({ message }) => message);
  return Object.assign(it, { clock, api, actor, messages });
}

const taintsOf = (api: NodeApi) => api.node?.spec?.taints;

describe('the conditions', () => {
  test('are written as taints within 5 s, and removed when they are over; taints of other clients stay', async () => {
    const it = setUp();
    it.conditions = [PRESSURE];
    await it.clock.advance(5_000);
    expect(taintsOf(it.api)).toEqual([...OTHERS, TAINT]);
    it.conditions = [];
    await it.clock.advance(5_000);
    expect(taintsOf(it.api)).toEqual(OTHERS);
  });

  test('are written only to the version that was read, and only if something differs', async () => {
    const it = setUp();
    await it.clock.advance(60_000);
    expect(it.api.requests).toEqual([]);
    it.conditions = [PRESSURE];
    await it.clock.advance(60_000);
    expect(it.api.verbs).toEqual(['get node', 'patch node']);
    expect(it.api.requests[1]?.body).toEqual({
      metadata: { resourceVersion: '1' },
      spec: { taints: [...OTHERS, TAINT] },
    });
  });

  test('a taint of an earlier run whose condition does not hold any more is removed when the condition would be over', async () => {
    const it = setUp([...OTHERS, TAINT], 300_000);
    await it.clock.advance(299_999);
    expect(it.api.requests).toEqual([]);
    await it.clock.advance(5_000);
    expect(taintsOf(it.api)).toEqual(OTHERS);
  });

  test('with NoExecute have the time at which they were added', async () => {
    const it = setUp([]);
    it.conditions = [condition('a', { effects: ['NoExecute'] })];
    await it.clock.advance(5_000);
    expect(taintsOf(it.api)).toEqual([
      { key: 'katalyst.kubewharf.io/a', effect: 'NoExecute', timeAdded: '2030-01-01T00:00:05Z' },
    ]);
  });

  test('that cannot become taints are logged by name once, and the others are written', async () => {
    const it = setUp([]);
    it.conditions = [condition('no taint'), PRESSURE];
    await it.clock.advance(60_000);
    expect(taintsOf(it.api)).toEqual([TAINT]);
    expect(it.messages('warn')).toEqual([
      expect.stringContaining('Eviction plugins: condition "no taint" cannot become a taint'),
    ]);
  });
});

describe('the Node object', () => {
  test('that is not known, or is of another machine, is not changed', async () => {
    const it = setUp();
    it.conditions = [PRESSURE];
    it.seen = () => undefined;
    await it.clock.advance(60_000);
    expect(it.api.requests).toEqual([]);
  });

  test('that was created again is not written before the watch shows it', async () => {
    const it = setUp();
    it.conditions = [PRESSURE];
    const before = it.api.node;
    it.seen = () => before;
    it.api.putNode({ metadata: { name: 'node-1', uid: 'another' } });
    await it.clock.advance(5_000);
    expect([it.api.verbs, it.actor.current]).toEqual([
      ['get node'],
      { state: 'BackingOff', problem: 'the object of node node-1 is not the one that is watched' },
    ]);
    it.seen = undefined;
    await it.clock.advance(5_000);
    expect([taintsOf(it.api), it.actor.current.problem]).toEqual([[TAINT], undefined]);
  });

  test('that another client changes meanwhile is read again: its taint is not lost', async () => {
    const it = setUp([]);
    it.conditions = [PRESSURE];
    let isChanged = false;
    it.api.fault = ({ verb }) => {
      if (verb !== 'patch' || isChanged) return;
      isChanged = true;
      it.api.putNode({ ...it.api.node!, spec: { taints: OTHERS } });
    };
    await it.clock.advance(5_000);
    expect(taintsOf(it.api)).toEqual([...OTHERS, TAINT]);
    expect(it.messages('warn')).toEqual([]);
  });
});

describe('if it fails', () => {
  const failing = (reason: Parameters<typeof refusal>[0]) => {
    const it = setUp();
    it.conditions = [PRESSURE];
    it.api.fault = ({ verb }) => {
      if (verb === 'patch') throw refusal(reason);
    };
    return it;
  };

  test('a refusal is logged once with the remedy, and the write is tried again after five minutes', async () => {
    const it = failing('Forbidden');
    await it.clock.advance(5_000);
    expect(it.actor.current.state).toBe('BackingOff');
    expect(it.messages('warn')).toEqual([
      expect.stringMatching(
        /the server says Forbidden: name in evictionPlugins\.taintsKubeconfig .* NodeRestriction/u,
      ),
    ]);
    await it.clock.advance(299_999);
    expect(it.api.verbs).toEqual(['get node', 'patch node']);
    await it.clock.advance(1);
    expect(it.api.verbs).toHaveLength(4);
    expect(it.messages('warn')).toHaveLength(1);
    it.api.fault = undefined;
    await it.clock.advance(300_000);
    expect(taintsOf(it.api)).toContainEqual(TAINT);
    expect(it.actor.current).toEqual({ state: 'Settled', problem: undefined });
  });

  test.each(['InternalError', 'TooManyRequests', 'NotFound'] as const)(
    '%s is tried again after 5 s, then later and later',
    async (reason) => {
      const it = failing(reason);
      await it.clock.advance(5_000 + 5_000 + 10_000 + 20_000);
      expect(it.api.requests.filter(({ verb }) => verb === 'patch')).toHaveLength(4);
      expect(it.messages('warn')).toHaveLength(1);
    },
  );

  test('if the condition is over meanwhile, there is nothing left to write', async () => {
    const it = failing('Forbidden');
    await it.clock.advance(5_000);
    it.conditions = [];
    await it.clock.advance(300_000);
    expect(it.actor.current).toEqual({ state: 'Settled', problem: undefined });
    expect(it.api.verbs).toHaveLength(2);
  });
});

test('after a stop nothing is written, and the taints stay', async () => {
  const it = setUp();
  it.conditions = [PRESSURE];
  await it.clock.advance(5_000);
  it.conditions = [];
  it.actor.stop();
  it.actor.start();
  await it.clock.advance(60_000);
  expect([taintsOf(it.api), it.clock.armed]).toEqual([[...OTHERS, TAINT], 0]);
});

describe('conditions of a CustomNodeResource', () => {
  const CNR = { resource: 'customnoderesources', name: 'node-1' } as const;
  const HOT = condition('Hot', { type: 'CNR_CONDITION', effects: ['reclaimed_cores/NoSchedule'] });
  const OF_OTHERS = { key: 'others', effect: 'NoSchedule', qosLevel: 'shared_cores' };
  const hotAt = (timeAdded: string) => ({
    ...{ key: 'katalyst.kubewharf.io/Hot', effect: 'NoSchedule', qosLevel: 'reclaimed_cores' },
    timeAdded,
  });

  async function setUpCNR(spec?: object) {
    const clock = new VirtualClock();
    const api = new KatalystApi();
    if (spec !== undefined) api.put(CNR, { spec, status: { resources: {} } });
    const { logger, lines } = recordingLogger();
    const measurements = new RecordedMeasurements();
    const context = testContext({ clock, logger, measurements });
    const it = { conditions: [] as PluginCondition[] };
    const actor = new ConditionTaints(context, {
      object: new TaintedCustomNodeResource(context, api, 'node-1'),
      conditions: { conditions: () => it.conditions },
      conditionTransitionPeriodMs: 0,
    });
    started.push(actor);
    actor.start();
    await clock.advance(0);
    return Object.assign(it, { api, clock, lines, actor, measurements });
  }

  test('become its taints, those of the node do not, and the rest of it stays', async () => {
    const it = await setUpCNR({ taints: [OF_OTHERS], nodeResourceProperties: [] });
    it.conditions = [HOT, PRESSURE];
    await it.clock.advance(5_000);
    expect(it.api.at(CNR)).toMatchObject({
      spec: { taints: [OF_OTHERS, hotAt('2030-01-01T00:00:05Z')], nodeResourceProperties: [] },
      status: { resources: {} },
    });
    expect(it.measurements.told.at(-1)).toBe('CNR: katalyst.kubewharf.io/Hot:reclaimed_cores/NoSchedule');
    const asked = it.api.requests.length;
    await it.clock.advance(60_000);
    expect(it.api.requests.length).toBe(asked);
    it.conditions = [];
    await it.clock.advance(5_000);
    expect(it.api.at(CNR)).toMatchObject({ spec: { taints: [OF_OTHERS] } });
  });

  test('make it where it is missing, and only then', async () => {
    const it = await setUpCNR();
    await it.clock.advance(60_000);
    expect(it.api.at(CNR)).toBeUndefined();
    it.conditions = [HOT];
    await it.clock.advance(5_000);
    expect(it.api.at(CNR)).toMatchObject({ spec: { taints: [hotAt('2030-01-01T00:01:05Z')] } });
  });

  test('are logged once if the object cannot be watched', async () => {
    const it = await setUpCNR();
    it.actor.stop();
    const api = Object.assign(new KatalystApi(), {
      fault: () => {
        throw refusal('Forbidden');
      },
    });
    const { logger, lines } = recordingLogger();
    const object = new TaintedCustomNodeResource(testContext({ clock: it.clock, logger }), api, 'node-1');
    object.start();
    await it.clock.advance(120_000);
    object.stop();
    expect(lines.map(({ message }) => message)).toEqual([
      'Eviction plugins: the CustomNodeResource of the node cannot be followed: cannot list customnoderesources: the server says Forbidden',
    ]);
  });
});

test('it is not healthy while a write is under way for too long; a server that refuses makes no difference', async () => {
  const it = setUp();
  let held: (() => void) | undefined;
  it.api.fault = () => new Promise((proceed) => void (held = proceed));
  it.conditions = [PRESSURE];
  await it.clock.advance(80_000);
  expect(it.actor.health()).toBeUndefined();
  await it.clock.advance(1);
  expect(it.actor.health()).toBe('the taints of the node have been under way for 1m15s1ms');
  it.api.fault = () => {
    throw refusal('Forbidden');
  };
  held?.();
  await it.clock.advance(0);
  expect([it.actor.health(), it.actor.current.state]).toEqual([undefined, 'BackingOff']);
});
