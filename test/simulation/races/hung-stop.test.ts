/** A pod that does not end must not delay the ends of other pods. */
import { expect, test } from '@jest/globals';
import { NO_FAULTS, type RuntimeFaults } from '../../../src/simulation/runtime/call-faults.ts';
import { ALL_WELL, container, podSpec, SimulatedAgent } from '../../support/simulated-agent.ts';

const OTHERS = 100;
/** The client's deadline for a StopContainer with a grace period of 2 s. */
const DEADLINE_MS = 122_000;
/** The longest back-off after a failed effect. */
const BACK_OFF_MS = 15_000;

const SPEC = podSpec({ containers: [container('main', 'run term-takes=1s'), container('second')] });

interface PodTimes {
  readonly startedAtMs: number | undefined;
  readonly goneAtMs: number | undefined;
}

/** A hundred pods are created, ten each second. Each is deleted 20 s later. */
async function othersCome(agent: SimulatedAgent): Promise<ReadonlyMap<string, PodTimes>> {
  const names = Array.from({ length: OTHERS }, (_, index) => `pod-${index}`);
  for (const name of names) {
    agent.create(name, SPEC);
    agent.clock.setTimeout(() => agent.delete(name, 10), 20_000);
    await agent.clock.advance(100);
  }
  await agent.clock.advance(30_000);
  return new Map(
    names.map((name) => {
      const [started] = agent.told(name, /-> Syncing.Settled/);
      const [gone] = agent.told(name, /^xstate.stop/);
      return [name, { startedAtMs: started?.atMs, goneAtMs: gone?.atMs }];
    }),
  );
}

async function deleted(faults: RuntimeFaults) {
  const agent = new SimulatedAgent();
  const uid = agent.create('hung');
  await agent.untilState(uid, 'Syncing.Settled');
  agent.runtime.podFaults.set(uid, faults);
  const deletedAtMs = agent.nowMs;
  agent.delete('hung', 1);
  await agent.clock.advance(5_000);
  return { agent, uid, deletedAtMs };
}

test.each<[string, RuntimeFaults]>([
  ['the stop of one pod', { calls: { StopContainer: { hang: 1 } } }],
  ['every call about one pod that ends', { anyCall: { hang: 1 } }],
])(
  '%s hangs: a hundred other pods are not delayed, and the pod ends when the runtime answers',
  async (_, faults) => {
    const { agent: usual } = await deleted(NO_FAULTS);
    const { agent, uid, deletedAtMs } = await deleted(faults);
    const times = await othersCome(agent);
    expect(agent.state(uid)).toBe('Terminating.Stopping');
    expect([...times].filter(([, { goneAtMs }]) => goneAtMs === undefined)).toEqual([]);
    expect(times).toEqual(await othersCome(usual));

    agent.runtime.podFaults.clear();
    await agent.untilState(uid, '');
    expect(agent.nowMs).toBeLessThan(deletedAtMs + DEADLINE_MS + BACK_OFF_MS + 1_000);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  },
);
