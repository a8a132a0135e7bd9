/** The agent is killed while it works, and the next agent goes on (I10). */
import { describe, expect, test } from '@jest/globals';
import { ALL_WELL, container, podSpec, SimulatedAgent } from '../../support/simulated-agent.ts';

const SPEC = podSpec({
  initContainers: [container('init', 'succeed'), container('sidecar', 'run', { restartPolicy: 'Always' })],
  containers: [
    container('main', 'run', {
      lifecycle: {
        postStart: { exec: { command: ['succeed', 'takes=1s'] } },
        preStop: { exec: { command: ['succeed', 'takes=2s'] } },
      },
    }),
    container('second'),
  ],
});

const CONTAINERS = 4;

const isGone = ({ host, runtime }: SimulatedAgent) =>
  host.sources.get('web') === undefined && runtime.uids().length === 0 && host.disk.size === 0;

/** A pod is created, runs for ten seconds, and is deleted. */
async function wholeLife(agent = new SimulatedAgent()): Promise<SimulatedAgent> {
  agent.create('web', SPEC);
  await agent.clock.advance(10_000);
  agent.delete('web', 20);
  await agent.until(() => isGone(agent), 'the pod to be gone');
  return agent;
}

describe('the agent is killed between STOP_DONE and the clean-up', () => {
  test('the next agent cleans up, and starts nothing', async () => {
    const agent = new SimulatedAgent();
    const uid = agent.create('web');
    await agent.untilState(uid, 'Syncing.Settled');
    agent.atNext(/STOP_DONE -> Terminated.CleaningUp/, () => agent.crash(1_000));
    agent.delete('web');
    await agent.until(() => agent.host.agentRun === undefined, 'the agent to be dead');
    await agent.clock.advance(500);
    expect(agent.host.disk.get(uid)).toMatchObject({ mounted: true });
    expect(agent.host.sources.get('web')).toBeDefined();

    const before = agent.history.length;
    await agent.until(() => isGone(agent), 'the pod to be gone');
    expect(agent.told(uid, /CLEANUP_DONE/)).toHaveLength(1);
    expect(agent.told(uid, /^(?:Run|Create|Start)/, before)).toEqual([]);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('if the pod has run to its end, the next agent reports the end', async () => {
    const agent = new SimulatedAgent();
    const job = podSpec({ containers: [container('main', 'run exit-after=5s')], restartPolicy: 'Never' });
    agent.atNext(/STOP_DONE -> Terminated.CleaningUp/, () => agent.crash(1_000));
    const uid = agent.create('job', job);
    await agent.until(() => agent.host.agentRun === undefined, 'the agent to be dead');
    const status = () => agent.host.sources.get('job')?.status;
    await agent.until(() => status()?.phase === 'Succeeded', 'its end to be reported');
    expect(agent.told(uid, /^container .* runs/)).toHaveLength(1);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });
});

describe('the agent is killed at any moment of a pod’s life', () => {
  test.each([0, 3_000])(
    'and the next agent starts %d ms later: no container runs twice, and nothing remains',
    async (downMs) => {
      const whole = await wholeLife();
      for (let moment = 1; moment <= whole.history.length; moment++) {
        const agent = new SimulatedAgent();
        agent.atMoment(moment, () => agent.crash(downMs));
        await wholeLife(agent);
        const after = whole.history[moment - 1]?.what;
        // A start that is carried out after the death of its agent may come too late for the pod.
        const late = agent.told('web', /^StartContainer .*: carried out late/).length;
        const starts = agent.told('web', /^container .* runs/).length - late;
        const outcome = {
          again: starts > CONTAINERS,
          inTime: agent.nowMs < 20_000,
          ...(await agent.verdict()),
        };
        expect({ after, ...outcome }).toEqual({ after, again: false, inTime: true, ...ALL_WELL });
      }
    },
  );

  test('and the pod is deleted by force before the next agent starts: the pod is ended', async () => {
    const whole = await wholeLife();
    for (let moment = 3; moment <= whole.history.length; moment++) {
      const agent = new SimulatedAgent();
      agent.atMoment(moment, () => {
        agent.crash(1_000);
        agent.apply('web', { kind: 'remove' });
      });
      await wholeLife(agent);
      const after = whole.history[moment - 1]?.what;
      expect({ after, ...(await agent.verdict()) }).toEqual({ after, ...ALL_WELL });
    }
  });
});
