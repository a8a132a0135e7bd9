/** A container that counts as started before its postStart hook has completed is reported, whichever agent shows it. */
import { expect, test } from '@jest/globals';
import { HookJudge } from '../../../src/simulation/judges/hook-judge.ts';
import type { Container, PodStatus } from '../../../src/types/kubernetes.ts';
import { container as specOf, podSpec } from '../../support/simulated-agent.ts';
import { container, sandbox } from './lifecycle-judge-bed.ts';

const UID = 'uid-of-web';
const STARTED_EARLY = `${UID}: main counts as started, and its postStart hook has not completed`;
const HOOK = ['succeed', 'takes=5s'];
type Handler = NonNullable<NonNullable<Container['lifecycle']>['postStart']>;

/** A container that has started at 1,000 ms, and an agent that runs since 0. */
function bed(postStart?: Handler) {
  const main = container('c1', { startedAt: 1000 });
  const moment = { now: 1000, agentSince: 0 };
  const violations: string[] = [];
  const lifecycle = postStart && { lifecycle: { postStart } };
  const spec = podSpec({ containers: [specOf('main', 'run', lifecycle)] });
  const judge = new HookJudge({
    now: () => moment.now,
    truth: () => ({ uids: () => [UID], sandboxesOf: () => [sandbox(true, main)] }),
    specOf: () => spec,
    violated: (uid, what) => violations.push(`${uid}: ${what}`),
  });
  const shows = (status: object) => {
    const shown = { name: 'main', image: '', imageID: '', containerID: 'simulated://c1', restartCount: 0 };
    const containerStatuses = [{ ...shown, ready: false, ...status }] as PodStatus['containerStatuses'];
    violations.length = 0;
    judge.shows(UID, { containerStatuses }, moment.agentSince);
    return [...violations];
  };
  const nextAgent = (now: number) => {
    moment.now = now;
    judge.agentEnds(moment.agentSince);
    moment.agentSince = now;
  };
  const ends = (words: readonly string[], exitCode: number) =>
    judge.commandEnded({ container: main, words, exitCode });
  return { moment, shows, nextAgent, ends };
}

const READY = { ready: true, started: true, state: { running: {} } };

test.each([{ ready: true }, { started: true }, { state: { running: {} } }])(
  'a container counts as started when it is shown as %j',
  (status) => {
    const { shows } = bed({ exec: { command: HOOK } });
    expect(shows(status)).toEqual([STARTED_EARLY]);
    expect(shows({ state: { waiting: { reason: 'ContainerCreating' } } })).toEqual([]);
    expect(shows({ ...status, containerID: 'simulated://c0' })).toEqual([]);
  },
);

test('a hook that is a command has completed when that command has succeeded in the container, under any agent', () => {
  const { shows, ends, nextAgent } = bed({ exec: { command: HOOK } });
  ends(['succeed'], 0);
  ends(HOOK, 1);
  nextAgent(2000);
  expect(shows(READY)).toEqual([STARTED_EARLY]);
  ends(HOOK, 0);
  expect(shows(READY)).toEqual([]);
  nextAgent(3000);
  expect(shows(READY)).toEqual([]);
});

test('a hook that sleeps has completed when one agent alone has slept that long', () => {
  const { moment, shows, nextAgent } = bed({ sleep: { seconds: 5 } });
  nextAgent(4000);
  moment.now = 8999;
  expect(shows(READY)).toEqual([STARTED_EARLY]);
  moment.now = 9000;
  expect(shows(READY)).toEqual([]);
  nextAgent(9000);
  expect(shows(READY)).toEqual([]);
});

test('a container without a hook, or with one that the simulation cannot see, counts as started at once', () => {
  expect(bed().shows(READY)).toEqual([]);
  expect(bed({ tcpSocket: { port: 80 } }).shows(READY)).toEqual([]);
});
