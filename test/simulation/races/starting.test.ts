/** A pod that is deleted while it starts: calls that were made may still be carried out. */
import { describe, expect, test } from '@jest/globals';
import type { EventFaults } from '../../../src/simulation/runtime/call-faults.ts';
import { ALL_WELL, container, podSpec, SimulatedAgent } from '../../support/simulated-agent.ts';

const STARTS = /^(?:RunPodSandbox|CreateContainer|StartContainer|PullImage|ExecSync)\b/;

/** A start with all its steps. */
const SPEC = podSpec({
  containers: [
    container('main', 'run', { lifecycle: { postStart: { exec: { command: ['succeed', 'takes=5s'] } } } }),
    container('second'),
  ],
});

const WITH_INIT_CONTAINERS = podSpec({
  ...SPEC,
  initContainers: [container('init', 'succeed'), container('sidecar', 'run', { restartPolicy: 'Always' })],
});

describe.each(['api', 'file'] as const)('a pod of the source %s', (source) => {
  test.each([
    ['RunPodSandbox', 'RunPodSandbox: done'],
    ['PullImage', 'PullImage registry.example/app:1: Canceled'],
    ['CreateContainer', 'CreateContainer main: done'],
    ['StartContainer', 'StartContainer uid-1.c1: done'],
    ['ExecSync', 'ExecSync uid-1.c1: Canceled'],
  ] as const)(
    'that is deleted during %s of its first container ends at once, and nothing is started afterwards',
    async (call, outcome) => {
      const agent = new SimulatedAgent();
      const uid = agent.create('web', SPEC, source);
      await agent.untilCalled(uid, call);
      const [deletedAtMs, before] = [agent.nowMs, agent.history.length];
      agent.delete('web');
      await agent.untilState(uid, '');
      expect(agent.nowMs - deletedAtMs).toBeLessThan(1_000);
      const answered = agent.told(uid, STARTS, before).filter(({ what }) => !what.endsWith('late'));
      expect(answered.map(({ what }) => what)).toEqual([outcome]);
      expect(await agent.verdict()).toEqual(ALL_WELL);
    },
  );
});

test.each<[string, EventFaults]>([
  ['', {}],
  [', even without events of the runtime', { lost: 1 }],
  [', even if events of the runtime come twice and in the wrong order', { doubled: 1, reordered: 1 }],
])('a pod that is deleted at any moment of its start ends at once%s', async (_, events) => {
  const begun = () => {
    const agent = new SimulatedAgent();
    agent.runtime.podFaults.set('uid-1', { events });
    return agent;
  };
  const whole = begun();
  await whole.untilState(whole.create('web', WITH_INIT_CONTAINERS), 'Syncing.Settled');
  for (let moment = 3; moment <= whole.history.length; moment++) {
    const agent = begun();
    let deletedAtMs = Infinity;
    agent.atMoment(moment, () => {
      deletedAtMs = agent.nowMs;
      agent.delete('web');
    });
    const uid = agent.create('web', WITH_INIT_CONTAINERS);
    await agent.until(() => agent.nowMs >= deletedAtMs && agent.state(uid) === '', 'the pod to be gone');
    const outcome = { inTime: agent.nowMs - deletedAtMs < 1_000, ...(await agent.verdict()) };
    const after = whole.history[moment - 1]?.what;
    expect({ after, ...outcome }).toEqual({ after, inTime: true, ...ALL_WELL });
  }
});
