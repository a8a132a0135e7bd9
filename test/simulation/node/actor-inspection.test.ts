/** The history has the events of all actors of an agent, a line each. */
import { expect, test } from '@jest/globals';
import { simulatedNodeFacts } from '../../../src/simulation/node/simulated-node-facts.ts';
import { container, podSpec, SimulatedAgent } from '../../support/simulated-agent.ts';

const wanting = (cpu: string, priority = 0) =>
  podSpec({ containers: [container('main', 'run', { resources: { requests: { cpu } } })], priority });

test('each event of a pod’s actor is written with the state that follows', async () => {
  const agent = new SimulatedAgent();
  const uid = agent.create('web');
  await agent.untilState(uid, 'Syncing.Settled');
  const from = agent.history.length;
  agent.delete('web', 1);
  await agent.untilState(uid, 'Terminated.Finished');
  const told = agent.told(uid, / -> /, from).map(({ what }) => what);
  expect(told).toContain('SyncPodUpdate -> Terminating.Stopping');
  expect(told).toContain('STOP_DONE -> Terminated.CleaningUp');
  expect(told).toContain('CLEANUP_DONE -> Terminated.Finished');
});

test('a preemption is written with its victims, about the preemptor', async () => {
  const agent = new SimulatedAgent();
  agent.nodeFacts = simulatedNodeFacts({ cpu: '2', memory: '4Gi', pods: '10' });
  const victim = agent.create('victim', wanting('2'));
  await agent.untilState(victim, 'Syncing.Settled');
  const preemptor = agent.create('critical', wanting('2', 2_000_000_000));
  await agent.untilState(preemptor, 'Syncing.Settled');
  const told = agent.told(preemptor, /^preemption: /).map(({ what }) => what);
  expect(told).toContain(`preemption: VICTIMS_SELECTED ${victim}; awaited: ${victim}`);
  expect(told).toContain(`preemption: VICTIM_ENDED ${victim}`);
  expect(agent.run.judges.admission.record(victim)).toMatchObject({ isPreempted: true });
});

test('a kill of a finished pod is answered, and violates nothing', async () => {
  const agent = new SimulatedAgent();
  const uid = agent.create('web');
  await agent.untilState(uid, 'Syncing.Settled');
  agent.run.kill(uid, { graceSeconds: 1, reason: 'Evicted' });
  await agent.untilState(uid, 'Terminated.Finished');
  agent.run.kill(uid, { graceSeconds: 1, reason: 'Evicted' });
  await agent.clock.advance(1_000);
  expect(agent.violations).toEqual([]);
  expect(agent.run.unansweredKills).toBe(0);
});
