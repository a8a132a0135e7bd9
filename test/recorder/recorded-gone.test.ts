/** Which pods the record of an agent has seen end, for another agent that begins after it. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { recordedGone } from '../../src/recorder/recorded-gone.ts';
import { recordOfAgent } from './replay/support.ts';
import { container, podSpec, SimulatedAgent } from '../support/simulated-agent.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'statelet-gone-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const segment = (number: number, text: string) =>
  writeFileSync(join(folder, `${String(number).padStart(6, '0')}.jsonl`), text);

/** By name: why they ended, and with which phase; empty for those that have not. */
async function gone(): Promise<Readonly<Record<string, string>>> {
  const lives = await recordedGone(folder);
  return Object.fromEntries(lives.map(({ name, end }) => [name, end ? `${end.cause} ${end.phase}` : '']));
}

const job = (mark: string) => podSpec({ containers: [container('main', mark)], restartPolicy: 'Never' });

test('pods that end have their causes, over all files, and one that runs has none', async () => {
  const agent = new SimulatedAgent();
  const record = recordOfAgent(agent);
  const failed = agent.create('failed', job('run exit-after=5s code=1'));
  const web = agent.create('web', podSpec());
  await agent.untilState(failed, 'Terminated.Finished');
  await agent.untilState(web, 'Syncing.Settled');
  segment(1, record());
  expect(await gone()).toEqual({ failed: 'Completed Failed', web: '' });
  // A new file begins with a session of its own.
  const next = recordOfAgent(agent);
  const done = agent.create('done', job('run exit-after=5s'));
  await agent.untilState(done, 'Terminated.Finished');
  segment(2, next());
  expect(await gone()).toEqual({ failed: 'Completed Failed', web: '', done: 'Completed Succeeded' });
});

test('running pods are left out: their looks and restarts do not push ends out of the answer', async () => {
  const lines = [
    { record: 'statelet', version: 1, at: 0, program: '1.2.3', pid: 77, node: 'node-a' },
    { actor: 1, id: 'gone_default u' },
    { actor: 2, id: 'busy_default v' },
    { actor: 3, id: 'gone_default main readiness u' },
    ...[
      ['Syncing.Starting.New', 'Syncing.Starting.Admitting'],
      ['Syncing.Settled', 'Terminating.Stopping'],
      ['Terminating.Stopping', 'Terminated.CleaningUp'],
      ['Syncing.Settled', 'Syncing.Working'],
    ].map(([from, to], index) => ({
      kind: index + 1,
      chart: 'pod',
      event: 'SyncPodKill',
      from,
      to,
      actions: [],
    })),
    [1, 1, 1],
    [1, 1, 2],
    [1, 1, 3],
    ...Array.from({ length: 700 }, () => [1, 2, 4]),
    [1, 3, 2],
  ];
  segment(1, `\n${lines.map((line) => JSON.stringify(line)).join('\n')}\n`);
  const [one, ...others] = await recordedGone(folder);
  expect(others).toEqual([]);
  expect(one).toMatchObject({
    ...{ namespace: 'default', name: 'gone', uid: 'u', state: 'Terminated.CleaningUp', sinceMs: 3 },
    end: { cause: 'Killed', toldMs: 2, endedMs: 3 },
  });
});

test('a pod that was started anew under its UID has not ended', async () => {
  const steps = [
    ['Syncing.Settled', 'Terminating.Stopping'],
    ['Terminating.Stopping', 'Terminated.CleaningUp'],
    ['Syncing.Starting.New', 'Syncing.Starting.Admitting'],
  ];
  const lines = [
    { record: 'statelet', version: 1, at: 0, program: '1.2.3', pid: 77, node: 'node-a' },
    { actor: 1, id: 'web_default u' },
    ...steps.map(([from, to], index) => ({
      kind: index + 1,
      chart: 'pod',
      event: 'E',
      from,
      to,
      actions: [],
    })),
    ...steps.map((_, index) => [1, 1, index + 1]),
  ];
  segment(1, `\n${lines.map((line) => JSON.stringify(line)).join('\n')}\n`);
  expect(await gone()).toEqual({ web: '' });
});

test('without a record there are none', async () => {
  expect(await recordedGone(join(folder, 'missing'))).toEqual([]);
});
