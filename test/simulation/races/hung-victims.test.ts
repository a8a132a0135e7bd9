/** Victims that do not end in time. */
import { expect, test } from '@jest/globals';
import { simulatedNodeFacts } from '../../../src/simulation/node/simulated-node-facts.ts';
import type { PodSpec } from '../../../src/types/kubernetes.ts';
import { container, podSpec, SimulatedAgent } from '../../support/simulated-agent.ts';

const CRITICAL = 2_000_000_000;
/** How long the kubelet waits for a victim with a grace period of 30 s. */
const PATIENCE_MS = 45_000;

function agentOn(cpu: string): SimulatedAgent {
  const agent = new SimulatedAgent();
  agent.nodeFacts = simulatedNodeFacts({ cpu, memory: '1Ti', pods: '100' });
  return agent;
}

function asking(cpu: string, priority: number, words = 'run'): PodSpec {
  return podSpec({ containers: [container('main', words, { resources: { requests: { cpu } } })], priority });
}

async function running(agent: SimulatedAgent, name: string, spec: PodSpec): Promise<string> {
  const uid = agent.create(name, spec);
  await agent.untilState(uid, 'Syncing.Settled');
  return uid;
}

const hang = (agent: SimulatedAgent, uid: string) =>
  agent.runtime.podFaults.set(uid, { calls: { StopContainer: { hang: 1 } } });

test('a victim that does not end keeps its resources, and no other pod gets the room that is being made', async () => {
  const agent = agentOn('3');
  const hung = await running(agent, 'hung', asking('1', 1));
  await running(agent, 'quick', asking('1', 2));
  const slow = await running(agent, 'slow', asking('1', 3, 'run term-takes=20s'));
  hang(agent, hung);
  const dns = agent.create('dns', asking('2', CRITICAL));
  await agent.untilState(slow, 'Terminating.Stopping');
  const ordinary = agent.create('ordinary', asking('1', 0));
  await agent.untilState(dns, 'Syncing.Settled');
  expect(agent.status(ordinary)).toMatchObject({ phase: 'Failed', reason: 'OutOfcpu' });
});

test('a static pod whose victim did not end waits until a pod ends, and does not retry at once', async () => {
  const agent = agentOn('1');
  const hung = await running(agent, 'hung', asking('1', 0));
  hang(agent, hung);
  const dns = agent.create('dns', asking('1', CRITICAL), 'file');
  await agent.clock.advance(10 * PATIENCE_MS);
  expect(agent.told('hung', /ExceededGracePeriod/)).toHaveLength(1);
  expect(agent.state(dns)).toBe('Syncing.Starting.AwaitingRoom');
  agent.runtime.podFaults.clear();
  await agent.untilState(dns, 'Syncing.Settled');
});
