/** Each change of a plan reaches the sources, the runtime or the agent. */
import { describe, expect, test } from '@jest/globals';
import { NO_API_FAULTS } from '../../../src/simulation/api/api-faults.ts';
import { SimulatedApiServer } from '../../../src/simulation/api/simulated-api-server.ts';
import { NodeChanges } from '../../../src/simulation/node/node-changes.ts';
import { SimulatedSources } from '../../../src/simulation/node/simulated-sources.ts';
import { ALL_FAULTS, type Fault } from '../../../src/simulation/plan/fault-kinds.ts';
import type { Change } from '../../../src/simulation/plan/plan.ts';
import { sandboxConfig, simulatedBed } from '../runtime/simulated-bed.ts';
import { call } from '../judges/lifecycle-judge-bed.ts';
import { container, podSpec } from '../../support/simulated-agent.ts';
import { hostContext } from './host-context.ts';

const CREATE: Change = { kind: 'create', source: 'api', spec: podSpec() };

/** Changes of a node whose agent only writes down what it is told to do. */
function bed(faults: readonly Fault[] = ALL_FAULTS) {
  const { clock, simulated, runtime } = simulatedBed();
  const api = new SimulatedApiServer({
    nodeName: 'node-1',
    clock,
    random: () => 0.5,
    faults: () => NO_API_FAULTS,
  });
  const [sources, known, told] = [new SimulatedSources(api), new Set<string>(), [] as string[]];
  const context = hostContext({
    clock,
    faults: () => new Set(faults),
    tell: (what, { name = '' } = {}) => void told.push(`${name}: ${what}`),
  });
  const changes = new NodeChanges(context, {
    runtime: simulated,
    sources,
    api,
    agent: {
      kill: (uid, { graceSeconds }) => void told.push(`kill ${uid} in ${String(graceSeconds)} s`),
      delete: (uid, graceSeconds) => void told.push(`delete ${uid} in ${String(graceSeconds)} s`),
      crash: (downMs) => void told.push(`crash for ${String(downMs)} ms`),
      restart: (downMs) => void told.push(`restart for ${String(downMs)} ms`),
      knows: (uid) => known.has(uid),
    },
  });
  const { pods, disk } = context;
  return { clock, simulated, runtime, api, sources, pods, disk, known, told, changes };
}

describe('changes to the sources', () => {
  test('a new pod has a UID after the number of its operation', () => {
    const { changes, sources, pods } = bed();
    changes.apply(7, 'web', CREATE);
    expect(sources.get('web')).toMatchObject({ metadata: { name: 'web', uid: 'uid-7' }, spec: podSpec() });
    expect([pods.nameOf('uid-7'), pods.isStatic('uid-7'), pods.specOf('uid-7')]).toEqual([
      'web',
      false,
      podSpec(),
    ]);
  });

  test('a pod that flaps is wanted again in the end, with the same UID', () => {
    const { changes, sources } = bed();
    changes.apply(1, 'web', CREATE);
    changes.apply(2, 'web', { kind: 'flap', times: 3 });
    expect(sources.get('web')?.metadata.uid).toBe('uid-1');
    expect(sources.hasAskedForEnd('uid-1')).toBe(true);
  });

  test('labels and images change in place', () => {
    const { changes, sources } = bed();
    changes.apply(1, 'web', CREATE);
    changes.apply(2, 'web', { kind: 'relabel', times: 3 });
    changes.apply(3, 'web', { kind: 'change image' });
    expect(sources.get('web')).toMatchObject({
      metadata: { uid: 'uid-1', labels: { version: '2.2' } },
      spec: { containers: [{ ...container('main'), image: 'registry.example/app:3' }] },
    });
  });
});

describe('changes to the agent', () => {
  test('kills come one after the other', async () => {
    const { clock, changes, told } = bed();
    changes.apply(1, 'web', CREATE);
    const kills = [30, 5].map((graceSeconds) => ({ graceSeconds, reason: undefined }));
    changes.apply(2, 'web', { kind: 'kill', kills, everyMs: 50 });
    await clock.advance(49);
    expect(told).toEqual(['kill uid-1 in 30 s']);
    await clock.advance(1);
    expect(told).toEqual(['kill uid-1 in 30 s', 'kill uid-1 in 5 s']);
  });

  test('a person deletes static pods only', () => {
    const { changes, told } = bed();
    changes.apply(1, 'web', CREATE);
    changes.apply(2, 'web', { kind: 'delete by hand', graceSeconds: 5 });
    changes.apply(3, 'nobody', { kind: 'delete by hand' });
    expect(told).toEqual([]);
    changes.apply(4, 'other', { kind: 'create', source: 'file', spec: podSpec() });
    changes.apply(5, 'other', { kind: 'delete by hand', graceSeconds: 7 });
    expect(told).toEqual(['delete uid-4 in 7 s']);
  });

  test('without a pod there is nothing to kill', () => {
    const { changes, told } = bed();
    const kills = [{ graceSeconds: 1, reason: undefined }];
    changes.apply(1, 'web', { kind: 'kill', kills, everyMs: 0 });
    expect(told).toEqual([]);
  });

  test('it is killed, or stopped', () => {
    const { changes, told } = bed();
    changes.apply(1, 'web', { kind: 'crash agent', downMs: 5 });
    changes.apply(2, 'web', { kind: 'restart agent', downMs: 6 });
    expect(told).toEqual(['crash for 5 ms', 'restart for 6 ms']);
  });
});

test('a sandbox of the pod dies in the runtime', async () => {
  const { changes, simulated, runtime } = bed();
  changes.apply(1, 'web', CREATE);
  await runtime.runPodSandbox(sandboxConfig('uid-1'));
  changes.apply(2, 'web', { kind: 'end sandbox' });
  expect(simulated.sandboxesOf('uid-1').map(({ ready }) => ready)).toEqual([false]);
});

describe('changes to the cluster', () => {
  test('the API server goes away, for the longest of several times', async () => {
    const { clock, api, changes } = bed();
    const stop = { kind: 'stop api', silent: false, forgetful: false } as const;
    changes.apply(1, '', { ...stop, downMs: 1_000 });
    changes.apply(2, '', { ...stop, downMs: 5_000, silent: true, forgetful: true });
    expect(api.reachability).toBe('silent');
    await clock.advance(4_999);
    expect([api.reachability, api.store.compacted < api.store.version]).toEqual(['silent', false]);
    changes.apply(3, 'web', CREATE);
    await clock.advance(1);
    expect([api.reachability, api.store.compacted]).toEqual(['up', api.store.version]);
  });

  test('the API server forgets older versions', () => {
    const { api, changes } = bed();
    changes.apply(1, 'web', CREATE);
    changes.apply(2, '', { kind: 'forget versions' });
    expect(api.store.compacted).toBe(api.store.version);
  });

  test('the node is cordoned, once it is registered', () => {
    const { api, changes } = bed();
    const node = () => api.store.get('nodes', { name: 'node-1' });
    changes.apply(1, '', { kind: 'cordon', unschedulable: true });
    expect(node()).toBeUndefined();
    api.operations.create({ resource: 'nodes' }, { metadata: { name: 'node-1' } });
    changes.apply(2, '', { kind: 'cordon', unschedulable: true });
    expect(node()).toMatchObject({ spec: { unschedulable: true } });
  });

  test('others delete mirror pods and set conditions', () => {
    const { api, changes, sources } = bed();
    const annotations = { 'kubernetes.io/config.mirror': 'uid-9' };
    api.operations.create(
      { resource: 'pods', namespace: 'default' },
      { metadata: { name: 'web', annotations }, spec: { ...podSpec(), nodeName: 'node-1' } },
    );
    changes.apply(1, 'web', { kind: 'set condition', status: 'False' });
    expect(sources.objects[0]?.status?.conditions).toMatchObject([{ type: 'example.com/gate' }]);
    changes.apply(2, 'web', { kind: 'delete mirror', graceSeconds: 0 });
    expect(sources.objects).toEqual([]);
  });
});

test('a change is on only if its fault is switched on', () => {
  const { changes } = bed(['agent']);
  const isOn = (change: Change) => changes.isOn(change);
  expect([isOn({ kind: 'crash agent', downMs: 0 }), isOn(CREATE)]).toEqual([true, true]);
  expect([isOn({ kind: 'end sandbox' }), isOn({ kind: 'stop runtime', downMs: 1 })]).toEqual([false, false]);
  expect([isOn({ kind: 'forget versions' }), isOn({ kind: 'cordon', unschedulable: true })]).toEqual([
    false,
    true,
  ]);
});

describe('a change that waits for a call', () => {
  const AMBUSH: Change = { kind: 'ambush', call: 'StartContainer', change: { kind: 'remove' } };
  const START = call('StartContainer', { uid: 'uid-1' });

  test('is made once, right after such a call about its pod has begun', async () => {
    const { clock, changes, sources, told } = bed();
    changes.apply(1, 'web', CREATE);
    changes.apply(2, 'web', AMBUSH);
    changes.callBegan(call('StartContainer', { uid: 'uid-9' }));
    changes.callBegan(call('StopContainer', { uid: 'uid-1' }));
    await clock.advance(0);
    expect(told).toEqual([]);
    changes.callBegan(START);
    changes.callBegan(START);
    await clock.advance(0);
    expect([told, sources.get('web')]).toEqual([['web: #2 comes at StartContainer'], undefined]);
  });

  test('is dropped when the faults stop', async () => {
    const { clock, changes, sources } = bed();
    changes.apply(1, 'web', CREATE);
    changes.apply(2, 'web', AMBUSH);
    changes.dropAmbushes();
    changes.callBegan(START);
    await clock.advance(0);
    expect(sources.get('web')).toBeDefined();
  });
});

describe('what is left of pods', () => {
  const LEAVE = { kind: 'leave remains', mounted: true } as const;

  test('is of a pod that never was, or of the last pod of a name once that is gone', () => {
    const { changes, disk } = bed();
    changes.apply(1, '', LEAVE);
    expect([...disk.keys()]).toEqual(['uid-lost-1']);
    expect(disk.get('uid-lost-1')?.mounted).toBe(true);
    changes.apply(2, 'web', CREATE);
    changes.apply(3, 'web', LEAVE);
    expect(disk.size).toBe(1);
    changes.apply(4, 'web', { kind: 'remove' });
    changes.apply(5, 'web', LEAVE);
    expect([...disk.keys()]).toEqual(['uid-lost-1', 'uid-2']);
  });

  test('is not of a pod that the agent still knows', () => {
    const { changes, disk, known } = bed();
    changes.apply(1, 'web', CREATE);
    changes.apply(2, 'web', { kind: 'remove' });
    known.add('uid-1');
    changes.apply(3, 'web', LEAVE);
    expect(disk.size).toBe(0);
  });
});
