import { beforeEach, describe, expect, test } from '@jest/globals';
import { NodeState } from '../../../../src/agent/actors/node/node-state.ts';
import type { PressureCondition } from '../../../../src/agent/policies/eviction/signals.ts';
import type { Node } from '../../../../src/types/kubernetes.ts';
import { ROOMY_NODE } from '../../../support/admission.ts';
import { clockOf, testContext } from '../../../support/test-context.ts';

const MINUTE_MS = 60_000;
const START = Date.UTC(2030, 0, 1);

let now: number;
let runtimeProblem: string | undefined;
let relistProblem: string | undefined;
let conditions: readonly PressureCondition[] | undefined;
let isShuttingDown: boolean | undefined;
let served: Node | undefined;

beforeEach(() => {
  now = START;
  runtimeProblem = relistProblem = conditions = isShuttingDown = served = undefined;
});

function nodeState(syncFrequencyMs = MINUTE_MS): NodeState {
  const state = new NodeState(testContext({ clock: clockOf(() => now) }), {
    syncFrequencyMs,
    hostIPs: ['192.0.2.1'],
    ownFacts: () => ROOMY_NODE,
    pleg: { health: () => relistProblem },
    runtimeState: {
      supplementalGroupsPolicy: true,
      health: () => ({ status: undefined, readyAt: START }),
    },
  });
  state.askActors({
    supervisor: {
      get runtimeProblem() {
        return runtimeProblem;
      },
    },
    eviction: conditions && { conditions: () => conditions ?? [] },
    shutdown: isShuttingDown === undefined ? undefined : { isShuttingDown },
    cluster: served && {
      node: () => served,
      freshNode: async () => Promise.resolve({ metadata: { name: 'node-a', labels: { zone: 'fresh' } } }),
    },
  });
  return state;
}

describe('the agent is not healthy', () => {
  test('when its loop has not moved for five minutes', () => {
    const state = nodeState();
    now += 5 * MINUTE_MS;
    expect(state.problem()).toBeUndefined();
    now += 1;
    expect(state.problem()).toBe('the sync loop has not moved for too long');
    state.looped();
    expect(state.problem()).toBeUndefined();
  });

  test('or for twice the sync frequency, where that is longer', () => {
    const state = nodeState(4 * MINUTE_MS);
    now += 8 * MINUTE_MS;
    expect(state.problem()).toBeUndefined();
    now += 1;
    expect(state.problem()).toBe('the sync loop has not moved for too long');
  });

  test('while the runtime is not ready, or its pods are not known', () => {
    const state = nodeState();
    relistProblem = 'no relist';
    expect(state.problem()).toBe('no relist');
    runtimeProblem = 'no runtime';
    expect(state.problem()).toBe('no runtime');
  });
});

describe('the facts of the node', () => {
  test('without a cluster are its own, with what the runtime can do', () => {
    expect(nodeState().facts()).toEqual({ ...ROOMY_NODE, supplementalGroupsPolicy: true });
  });

  test('have the conditions of eviction, and the shutdown of the node', () => {
    conditions = ['DiskPressure'];
    isShuttingDown = true;
    expect(nodeState().facts()).toMatchObject({ conditions, isShuttingDown });
    expect(nodeState().health()).toMatchObject({ isShuttingDown });
  });

  test('in a cluster are those of the Node object, which is read anew on request', async () => {
    served = {
      metadata: { name: 'node-a', labels: { zone: 'served' } },
      status: { allocatable: { cpu: '1' } },
    };
    const state = nodeState();
    expect(state.facts()).toMatchObject({ labels: { zone: 'served' }, allocatable: { cpu: '1' } });
    expect((await state.freshFacts()).labels).toEqual({ zone: 'fresh' });
  });
});

describe('the addresses of the node', () => {
  test('are those that were found', () => {
    expect(nodeState().hostIPs()).toEqual(['192.0.2.1']);
  });

  test('in a cluster are those of the Node object', () => {
    served = {
      metadata: { name: 'node-a' },
      status: { addresses: [{ type: 'InternalIP', address: '198.51.100.7' }] },
    };
    expect(nodeState().hostIPs()).toEqual(['198.51.100.7']);
  });
});
