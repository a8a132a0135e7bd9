/** A thousand events must not cost a thousand times as much as one. */
import { merge, Subject } from 'rxjs';
import { describe, expect, test } from '@jest/globals';
import type { ContainerEvent } from '../../../src/types/cri.ts';
import { ALL_WELL, SimulatedAgent } from '../../support/simulated-agent.ts';

const CALL = /^[A-Z][A-Za-z]+(?: \S+)?: /;
const START = /^container main .* runs/;

/** How many sync effects a pod has had: each begins when its chart enters Working. */
function syncsOf(agent: SimulatedAgent, uid: string, from: number): number {
  let state = '';
  let syncs = 0;
  agent.history.forEach(({ who, what }, index) => {
    const [, event = '', to = ''] = /^(\S+) -> (\S+)$/.exec(what) ?? [];
    if (!who.endsWith(uid) || to === '') return;
    const enters = to === 'Syncing.Working' && (state !== to || event.startsWith('SYNC_'));
    if (enters && index >= from) syncs += 1;
    state = to;
  });
  return syncs;
}

describe('a storm of 1,000 updates of one pod', () => {
  const UPDATES = 1_000;

  async function settled() {
    const agent = new SimulatedAgent();
    const uid = agent.create('web');
    await agent.untilState(uid, 'Syncing.Settled');
    return { agent, uid, before: agent.history.length };
  }

  const labelOf = (agent: SimulatedAgent, uid: string) =>
    agent.run.agent.supervisor.registry.get(uid)?.actor.getSnapshot().context.pod?.metadata.labels;

  test('in one tick costs two syncs and no call', async () => {
    const { agent, uid, before } = await settled();
    agent.apply('web', { kind: 'relabel', times: UPDATES });
    await agent.clock.advance(1_000);
    expect(agent.told(uid, /^SyncPodUpdate/)).toHaveLength(UPDATES);
    expect(syncsOf(agent, uid, before)).toBe(2);
    expect(agent.told(uid, CALL, before)).toEqual([]);
    expect(labelOf(agent, uid)).toEqual({ version: `2.${UPDATES - 1}` });
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('during its start costs a few syncs, and the newest version runs in the end', async () => {
    const agent = new SimulatedAgent();
    const uid = agent.create('web');
    await agent.untilCalled(uid, 'PullImage');
    const before = agent.history.length;
    for (let update = 0; update < UPDATES; update++) {
      agent.apply('web', { kind: 'change image' });
      await agent.clock.advance(1);
    }
    await agent.untilState(uid, 'Syncing.Settled');
    expect(syncsOf(agent, uid, before)).toBeLessThan(5);
    expect(agent.told(uid, START).length).toBeLessThan(5);
    expect(await agent.running()).toMatchObject([{ image: `registry.example/app:${UPDATES + 1}` }]);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('that change its image restarts its container a few times, and the newest version runs in the end', async () => {
    const { agent, uid, before } = await settled();
    for (let update = 0; update < UPDATES; update++) {
      agent.apply('web', { kind: 'change image' });
      await agent.clock.advance(1);
    }
    await agent.untilState(uid, 'Syncing.Settled');
    expect(syncsOf(agent, uid, before)).toBeLessThan(7);
    expect(agent.told(uid, START, before).length).toBeLessThan(5);
    expect(await agent.running()).toMatchObject([{ image: `registry.example/app:${UPDATES + 1}` }]);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });
});

describe('a storm of 10,000 runtime events of one pod', () => {
  const EVENTS = 10_000;

  /** The agent receives the events of the runtime and those of the test. */
  async function settled() {
    const agent = new SimulatedAgent();
    const { connection } = agent.run;
    const storm = new Subject<ContainerEvent>();
    const heard: ContainerEvent[] = [];
    const real = connection.containerEvents();
    real.subscribe((event) => heard.push(event));
    connection.containerEvents = () => merge(real, storm);
    const uid = agent.create('web');
    await agent.untilState(uid, 'Syncing.Settled');
    // By then, the agent has read the pods of all events.
    await agent.clock.advance(1_000);
    return { agent, uid, heard, storm };
  }

  test('that are known already costs no read', async () => {
    const { agent, uid, heard, storm } = await settled();
    const before = agent.history.length;
    for (let event = 0; event < EVENTS; event++) {
      storm.next(heard[event % heard.length]!);
      if (event % 100 === 0) await agent.clock.advance(1);
    }
    await agent.clock.advance(5_000);
    expect(heard.length).toBeGreaterThan(3);
    expect(agent.told(uid, CALL, before)).toEqual([]);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('with new times in one tick costs at most two reads', async () => {
    const { agent, uid, heard, storm } = await settled();
    const before = agent.history.length;
    const createdAt = agent.clock.now() * 1e6;
    for (let event = 0; event < EVENTS; event++) storm.next({ ...heard[0]!, createdAt });
    await agent.clock.advance(5_000);
    expect(agent.told(uid, /^ListContainers/, before).length).toBeLessThanOrEqual(2);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });
});
