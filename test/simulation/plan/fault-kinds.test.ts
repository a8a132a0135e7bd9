import { NO_NODE_FAULTS } from '../../../src/simulation/node/node-fault-draws.ts';
import { describe, expect, test } from '@jest/globals';
import {
  ALL_FAULTS,
  type Fault,
  nodeFaults,
  runtimeFaults,
  statsFaults,
} from '../../../src/simulation/plan/fault-kinds.ts';

const faults = (...names: Fault[]): ReadonlySet<Fault> => new Set(names);
/** Draws a share: 0 for never, 0.25 for the usual rate, 0.75 for three times that. */
const drawing = (value: number) => () => value;

describe('faults of the runtime', () => {
  test('never happen if they are switched off, or if the node draws no share of them', () => {
    const off = runtimeFaults(faults(), drawing(0.75));
    expect(Object.values(off.anyCall)).toEqual([0, 0, 0, 0, 0, 0]);
    expect([Object.values(off.events), off.sandboxDeath]).toEqual([[0, 0, 0, 0], 0]);
    const without = runtimeFaults(new Set(ALL_FAULTS), drawing(0));
    expect(Object.values(without.anyCall)).toEqual([0, 0, 0, 0, 0, 0]);
  });

  test('happen at the rate that the node draws', () => {
    const [usual, often] = [0.25, 0.75].map((value) => runtimeFaults(faults('fail', 'hang'), drawing(value)));
    expect(usual!.anyCall.fail).toBeGreaterThan(0);
    expect(often!.anyCall.fail).toBeCloseTo(3 * usual!.anyCall.fail!, 10);
    expect(usual!.anyCall.slow).toBe(0);
  });

  test('hang more often for calls that start something', () => {
    const { anyCall, calls } = runtimeFaults(faults('hang'), drawing(0.25));
    for (const name of ['RunPodSandbox', 'CreateContainer', 'StartContainer'] as const)
      expect(calls[name]?.hang).toBeGreaterThan(anyCall.hang!);
  });
});

test('faults of the node and of its measurements happen only if they are switched on', () => {
  expect(nodeFaults(faults())).toEqual(NO_NODE_FAULTS);
  const { mount, release, pull } = nodeFaults(faults('volumes'));
  expect([mount > 0, release > 0, pull]).toEqual([true, true, 0]);
  expect(nodeFaults(faults('images')).pull).toBeGreaterThan(0);
  expect(statsFaults(faults('volumes'))).toEqual({ fail: 0, slow: 0 });
  expect(statsFaults(faults('fail')).fail).toBeGreaterThan(0);
  expect(statsFaults(faults('slow')).slow).toBeGreaterThan(0);
});
