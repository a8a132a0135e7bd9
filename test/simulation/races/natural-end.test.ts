/** A kill that comes when the pod ends by itself. */
import { describe, expect, test } from '@jest/globals';
import {
  ALL_WELL,
  CHANCE,
  container,
  type Kill,
  podSpec,
  SimulatedAgent,
} from '../../support/simulated-agent.ts';

const JOB = podSpec({ containers: [container('main', 'run exit-after=5s')], restartPolicy: 'Never' });
const UID = 'uid-1';

interface Story {
  readonly agent: SimulatedAgent;
  readonly kill: Kill | undefined;
}

/** Runs a job to its end. `arrange` decides when `kill` is called. */
async function story(arrange: (agent: SimulatedAgent, kill: () => void) => void): Promise<Story> {
  const agent = new SimulatedAgent();
  const story: { agent: SimulatedAgent; kill: Kill | undefined } = { agent, kill: undefined };
  arrange(agent, () => (story.kill = agent.kill(UID)));
  agent.create('job', JOB);
  await agent.until(() => agent.state(UID) === 'Terminated.Finished', 'the job to be finished');
  return story;
}

/** The job ended by itself, once, before it was stopped, and the kill was answered once. */
async function expectOneEnd({ agent, kill }: Story) {
  expect(agent.status(UID)).toMatchObject({
    phase: 'Succeeded',
    containerStatuses: [{ state: { terminated: { exitCode: 0, reason: 'Completed' } } }],
  });
  expect(agent.told(UID, /^container main .* (?:runs|has ended)/)).toMatchObject([
    { what: 'container main uid-1.c1 runs' },
    { what: 'container main uid-1.c1 has ended with 0' },
  ]);
  expect(agent.told(UID, /^STOP_DONE -> Terminated/)).toHaveLength(1);
  expect(await agent.verdict()).toEqual(ALL_WELL);
  expect(kill?.answers).toHaveLength(1);
}

async function msOf(pattern: RegExp): Promise<number> {
  const { agent } = await story(() => undefined);
  return agent.told(UID, pattern)[0]?.atMs ?? NaN;
}

describe('a kill at the millisecond of the container’s end', () => {
  test('just before the end', async () => {
    const endMs = await msOf(/^container main .* has ended/);
    // Timers with equal deadlines fire in the order in which they were armed: this one is the first.
    const told = await story((agent, kill) => agent.clock.setTimeout(kill, endMs));
    expect(told.agent.told(UID, /^SyncPodKill/)).toMatchObject([
      { atMs: endMs, what: 'SyncPodKill -> Terminating.Stopping' },
    ]);
    await expectOneEnd(told);
  });

  test('just after the end, before the event of the runtime', async () => {
    const told = await story((agent, kill) => agent.atNext(/container main .* has ended/, kill));
    const [end, killed] = told.agent.told(UID, /^SyncPodKill|has ended/);
    expect(killed).toMatchObject({ atMs: end?.atMs, what: 'SyncPodKill -> Terminating.Stopping' });
    await expectOneEnd(told);
  });
});

describe('a kill in the same tick as the SYNC_DONE of the last sync', () => {
  test('just before SYNC_DONE: SYNC_DONE ends Draining', async () => {
    const { agent: whole } = await story(() => undefined);
    const isEnd = ({ what }: { what: string }) => what === 'SYNC_DONE -> Terminating.Stopping';
    const moment = whole.history.findIndex(isEnd);
    const told = await story((agent, kill) => agent.atMoment(moment, kill));
    expect(told.agent.history.slice(moment, moment + 2)).toMatchObject([
      { what: 'SyncPodKill -> Syncing.Draining' },
      { what: 'SYNC_DONE -> Terminating.Stopping' },
    ]);
    await expectOneEnd(told);
  });

  test('just after SYNC_DONE', async () => {
    const told = await story((agent, kill) => agent.atNext(/SYNC_DONE -> Terminating/, kill));
    const [done, ...rest] = told.agent.told(UID, /^SYNC_DONE -> Terminating|^SyncPodKill/);
    expect(done?.what).toBe('SYNC_DONE -> Terminating.Stopping');
    expect(rest).toMatchObject([
      { atMs: done?.atMs, what: expect.stringMatching('SyncPodKill -> Terminating') },
    ]);
    await expectOneEnd(told);
  });
});

test('a kill at any moment between the end of the container and the end of the pod does not change how the pod ends', async () => {
  const { agent: whole } = await story(() => undefined);
  const end = whole.history.findIndex(({ what }) => what.includes('has ended')) + 1;
  for (let moment = end; moment <= whole.history.length; moment++) {
    await expectOneEnd(await story((agent, kill) => agent.atMoment(moment, kill)));
  }
});

test('a job that has failed before its deadline does not exceed it when its clean-up takes longer', async () => {
  // Its volumes are mounted at the first try, and released at the third.
  const chance = (key: string) => {
    if (/\/mount\/\d+$/.test(key)) return 1;
    return /\/release\/[12]$/.test(key) ? 0 : CHANCE(key);
  };
  const agent = new SimulatedAgent(chance, ['volumes']);
  const containers = [container('main', 'run exit-after=5s code=1')];
  agent.create('job', podSpec({ containers, restartPolicy: 'Never', activeDeadlineSeconds: 10 }));
  await agent.until(() => agent.state(UID) === 'Terminated.Finished', 'the job to be finished');
  const [stopped] = agent.told(UID, /^STOP_DONE/);
  const [cleanedUp] = agent.told(UID, /^CLEANUP_DONE/);
  expect(stopped!.atMs).toBeLessThan(10_000);
  expect(cleanedUp!.atMs).toBeGreaterThan(11_000);
  expect(agent.status(UID)).toMatchObject({ phase: 'Failed' });
  expect(agent.status(UID)?.reason).toBeUndefined();
  expect(await agent.verdict()).toEqual(ALL_WELL);
});
