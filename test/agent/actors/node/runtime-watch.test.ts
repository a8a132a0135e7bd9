import { expect, test } from '@jest/globals';
import { SimulatedAgent } from '../../../support/simulated-agent.ts';

/** The longest answer of the simulated API server, and the time until a report is built. */
const REPORT_MS = 1_000;

const ready = (agent: SimulatedAgent) =>
  agent.run.agent.cluster?.node()?.status?.conditions?.find(({ type }) => type === 'Ready');

const problems = (agent: SimulatedAgent) =>
  agent.run.agent.nodeHealth().runtime.status?.conditions.filter(({ status }) => !status);

test('a node whose network becomes ready is reported as Ready at once, long after its start too', async () => {
  const agent = new SimulatedAgent();
  agent.runtime.networkReady = false;
  await agent.until(() => ready(agent)?.status === 'False', 'the node to be reported');
  expect(ready(agent)?.message).toContain('container runtime network not ready');
  await agent.clock.advance(5 * 60_000);

  agent.runtime.networkReady = true;
  await agent.until(() => problems(agent)?.length === 0, 'the runtime to say that its network is ready');
  const { nowMs } = agent;
  await agent.until(() => ready(agent)?.status === 'True', 'the node to be Ready');
  expect(agent.nowMs - nowMs).toBeLessThan(REPORT_MS);
});

test('a node whose network is not ready any more is reported at once', async () => {
  const agent = new SimulatedAgent();
  await agent.until(() => ready(agent)?.status === 'True', 'the node to be Ready');
  agent.runtime.networkReady = false;
  await agent.until(() => problems(agent)?.length === 1, 'the runtime to say that its network is not ready');
  const { nowMs } = agent;
  await agent.until(() => ready(agent)?.status === 'False', 'the node not to be Ready');
  expect(agent.nowMs - nowMs).toBeLessThan(REPORT_MS);
});
