import { expect, test } from '@jest/globals';
import { AgentClock } from '../../../src/simulation/node/agent-clock.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';

test('timers fire on time, and cleared timers do not', async () => {
  const clock = new VirtualClock(0);
  const agentClock = new AgentClock(clock);
  const fired: number[] = [];
  agentClock.setTimeout(() => fired.push(agentClock.now()), 100);
  agentClock.clearTimeout(agentClock.setTimeout(() => fired.push(-1), 50));
  await clock.advance(200);
  expect(fired).toEqual([100]);
});

test('after stop no timer fires, and none is armed', async () => {
  const clock = new VirtualClock(0);
  const agentClock = new AgentClock(clock);
  const fired: string[] = [];
  clock.setTimeout(() => fired.push('another agent'), 100);
  agentClock.setTimeout(() => fired.push('before'), 100);
  agentClock.stop();
  agentClock.setTimeout(() => fired.push('after'), 100);
  expect(clock.armed).toBe(1);
  await clock.advance(200);
  expect(fired).toEqual(['another agent']);
});
