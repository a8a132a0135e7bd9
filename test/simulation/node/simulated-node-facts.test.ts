import { expect, test } from '@jest/globals';
import { drawnNodeFacts, ROOMY_NODE } from '../../../src/simulation/node/simulated-node-facts.ts';

/** Draws `room` for the node and `ofAgent` for each of its agents. */
const drawing =
  (room: number, ofAgent = 0) =>
  (key: string) =>
    key === 'room' ? room : ofAgent;

test('one node in four is large enough for all pods', () => {
  expect(drawnNodeFacts(20, drawing(0.1), 1)).toBe(ROOMY_NODE);
});

test('another node has a share of the average requests of its pods', () => {
  const { allocatable } = drawnNodeFacts(20, drawing(0.3), 1);
  expect(allocatable).toMatchObject({ cpu: '7500m', memory: '3000Mi', pods: '16' });
});

test('a node for few pods has a minimum of each resource', () => {
  const { allocatable } = drawnNodeFacts(1, drawing(0.3), 1);
  expect(allocatable).toMatchObject({ cpu: '3000m', memory: '2048Mi', pods: '2' });
});

test('an agent may have less for pods than the agent before it', () => {
  const [first, second] = [0, 0.9].map((ofAgent, index) =>
    drawnNodeFacts(20, drawing(0.3, ofAgent), index + 1),
  );
  expect(first!.allocatable.cpu).toBe('7500m');
  expect(second!.allocatable.cpu).toBe('5250m');
});
