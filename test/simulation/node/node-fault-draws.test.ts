import { expect, test } from '@jest/globals';
import { NO_NODE_FAULTS, NodeFaultDraws } from '../../../src/simulation/node/node-fault-draws.ts';

test('without faults nothing happens', () => {
  const draws = new NodeFaultDraws({ random: () => 0, faults: () => NO_NODE_FAULTS });
  expect(draws.happens('mount', 'uid')).toBe(false);
  expect(draws.lastingSeverity('mountOutage', 'uid')).toBe(0);
});

test('each time that it is asked for, a fault is drawn anew, and a lasting one only once', () => {
  const keys: string[] = [];
  const draws = new NodeFaultDraws({
    random: (key) => 0.025 * keys.push(key),
    faults: () => ({ ...NO_NODE_FAULTS, mount: 0.1, mountOutage: 0.5 }),
  });
  expect(draws.severity('mount', 'uid')).toBeCloseTo(0.75);
  expect(draws.severity('mount', 'uid')).toBeCloseTo(0.5);
  draws.lastingSeverity('mountOutage', 'uid');
  draws.lastingSeverity('mountOutage', 'uid');
  expect(keys).toEqual(['uid/mount/1', 'uid/mount/2', 'uid/mountOutage', 'uid/mountOutage']);
});
