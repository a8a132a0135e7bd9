/** ConfigMaps and Secrets that come late, change and go, at the moment at which pods need them. */
import { describe, expect, test } from '@jest/globals';
import { ALL_WELL, container, podSpec, SimulatedAgent } from '../../support/simulated-agent.ts';
import type { Container, PodSpec } from '../../../src/types/kubernetes.ts';

type Volume = NonNullable<PodSpec['volumes']>[number];
const CONFIG = { resource: 'configmaps', name: 'config' } as const;

function mounting(volume: Omit<Volume, 'name'>): PodSpec {
  const volumeMounts = [{ name: 'contents', mountPath: '/mnt' }];
  return podSpec({
    containers: [container('main', 'run', { volumeMounts })],
    volumes: [{ name: 'contents', ...volume }],
  });
}

const withVariables = (variables: Pick<Container, 'env' | 'envFrom'>): PodSpec =>
  podSpec({ containers: [container('main', 'run', variables)] });

const NEEDS: readonly (readonly [how: string, spec: PodSpec])[] = [
  ['a volume', mounting({ configMap: { name: 'config', defaultMode: 0o644 } })],
  [
    'a projected volume',
    mounting({ projected: { defaultMode: 0o644, sources: [{ configMap: { name: 'config' } }] } }),
  ],
  ['variables', withVariables({ envFrom: [{ configMapRef: { name: 'config' } }] })],
  [
    'a variable',
    withVariables({ env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'config', key: 'a' } } }] }),
  ],
];

const set = (agent: SimulatedAgent, immutable = false) =>
  agent.apply('', { kind: 'set object', ...CONFIG, keys: ['a', 'b'], immutable });
const remove = (agent: SimulatedAgent) => agent.apply('', { kind: 'delete object', ...CONFIG });
const starts = (agent: SimulatedAgent) => agent.told('web', /^container main .* runs/).length;
const filesOf = (agent: SimulatedAgent, uid: string) =>
  Object.fromEntries(agent.host.disk.get(uid)?.volumes.get('contents') ?? []);

describe.each(NEEDS)('a pod that needs an object for %s', (_, spec) => {
  test('waits for it, and starts when it is there', async () => {
    const agent = new SimulatedAgent();
    const uid = agent.create('web', spec);
    await agent.clock.advance(300_000);
    expect(starts(agent)).toBe(0);
    set(agent);
    await agent.untilState(uid, 'Syncing.Settled');
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('goes on within seconds of its change, not at its next try', async () => {
    const agent = new SimulatedAgent();
    const uid = agent.create('web', spec);
    await agent.clock.advance(100_000);
    const before = agent.nowMs;
    set(agent);
    await agent.untilState(uid, 'Syncing.Settled');
    expect(agent.nowMs - before).toBeLessThan(5_000);
  });

  test('starts when it is there also after a restart of the agent', async () => {
    const agent = new SimulatedAgent();
    const uid = agent.create('web', spec);
    await agent.clock.advance(60_000);
    agent.crash(5_000);
    await agent.clock.advance(1_000);
    set(agent);
    await agent.untilState(uid, 'Syncing.Settled');
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('ends when it is deleted, and leaves nothing, though the object never comes', async () => {
    const agent = new SimulatedAgent();
    const uid = agent.create('web', spec);
    await agent.clock.advance(300_000);
    agent.delete('web');
    await agent.untilState(uid, '');
    expect(starts(agent)).toBe(0);
    expect([...agent.host.disk.keys()]).toEqual([]);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('that comes and goes runs with a version that there was', async () => {
    const agent = new SimulatedAgent();
    agent.create('web', spec);
    for (let time = 0; time < 20; time++) {
      set(agent);
      await agent.clock.advance(700 * time);
      remove(agent);
      await agent.clock.advance(50 * time);
      if (time % 5 === 4) agent.crash();
    }
    set(agent);
    await agent.untilSettled();
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });
});

test('files follow their object, and stay when it is deleted', async () => {
  const agent = new SimulatedAgent();
  set(agent);
  const uid = agent.create('web', mounting({ configMap: { name: 'config', defaultMode: 0o644 } }));
  await agent.untilState(uid, 'Syncing.Settled');
  expect(filesOf(agent, uid)).toEqual({ a: 'config/a/1', b: 'config/b/1' });
  set(agent);
  await agent.until(() => filesOf(agent, uid).a !== 'config/a/1', 'the new files');
  expect(filesOf(agent, uid)).toEqual({ a: 'config/a/3', b: 'config/b/3' });
  remove(agent);
  await agent.clock.advance(300_000);
  expect(filesOf(agent, uid)).toEqual({ a: 'config/a/3', b: 'config/b/3' });
  expect(starts(agent)).toBe(1);
  expect(await agent.verdict()).toEqual(ALL_WELL);
});

test('a hundred pods that share an object hold one watch, which ends with the last of them', async () => {
  const agent = new SimulatedAgent();
  agent.nodeFacts = { ...agent.nodeFacts, allocatable: { ...agent.nodeFacts.allocatable, pods: '200' } };
  set(agent);
  const names = Array.from({ length: 100 }, (_, index) => `web-${String(index)}`);
  const uids = names.map((name) =>
    agent.create(name, mounting({ configMap: { name: 'config', defaultMode: 0o644 } })),
  );
  for (const uid of uids) await agent.untilState(uid, 'Syncing.Settled');
  const watches = () => agent.run.client.watched.filter((subject) => subject.startsWith('configmaps/'));
  expect(watches()).toEqual(['configmaps/default/config']);
  names.forEach((name) => agent.delete(name, 1));
  await agent.until(() => watches().length === 0, 'the end of the watch');
  expect(await agent.verdict()).toEqual(ALL_WELL);
});

test('a pod does not wait for what is optional, and gets it when it is there', async () => {
  const agent = new SimulatedAgent();
  const uid = agent.create(
    'web',
    mounting({ configMap: { name: 'config', optional: true, defaultMode: 0o644 } }),
  );
  await agent.untilState(uid, 'Syncing.Settled');
  expect(filesOf(agent, uid)).toEqual({});
  set(agent);
  await agent.until(() => filesOf(agent, uid).a === 'config/a/2', 'the files');
  remove(agent);
  await agent.until(() => filesOf(agent, uid).a === undefined, 'their removal');
  expect(await agent.verdict()).toEqual(ALL_WELL);
});

test('an immutable object keeps its contents', async () => {
  const agent = new SimulatedAgent();
  set(agent, true);
  const uid = agent.create('web', mounting({ configMap: { name: 'config', defaultMode: 0o644 } }));
  await agent.untilState(uid, 'Syncing.Settled');
  set(agent);
  await agent.clock.advance(300_000);
  expect(filesOf(agent, uid)).toEqual({ a: 'config/a/1', b: 'config/b/1' });
  expect(await agent.verdict()).toEqual(ALL_WELL);
});

describe('set-ups of volumes that take minutes', () => {
  /** The first set-up of each pod hangs for nearly two minutes. */
  const hanging = (key: string) => (key.includes('/mountHang/1') ? 0 : 0.9);

  test('end when the pod is deleted, and leave nothing', async () => {
    const agent = new SimulatedAgent(hanging, ['volumes']);
    const uid = agent.create('web');
    await agent.untilState(uid, 'Syncing.Working');
    await agent.clock.advance(10_000);
    agent.delete('web', 5);
    await agent.untilState(uid, '');
    expect(starts(agent)).toBe(0);
    expect([...agent.host.disk.keys()]).toEqual([]);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });

  test('are begun anew by the next agent', async () => {
    const agent = new SimulatedAgent(hanging, ['volumes']);
    const uid = agent.create('web');
    await agent.untilState(uid, 'Syncing.Working');
    agent.crash(1_000);
    await agent.untilState(uid, 'Syncing.Settled');
    expect(starts(agent)).toBe(1);
    expect(await agent.verdict()).toEqual(ALL_WELL);
  });
});
