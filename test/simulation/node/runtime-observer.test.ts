/** What happens in the runtime is written down, counted and checked. */
import { expect, test } from '@jest/globals';
import type { SimulatedRuntime } from '../../../src/simulation/runtime/simulated-runtime.ts';
import type { AgentRun } from '../../../src/simulation/node/agent-run.ts';
import { RuntimeObserver } from '../../../src/simulation/node/runtime-observer.ts';
import { newTally } from '../../../src/simulation/tally.ts';
import { call, container, LifecycleJudgeBed, sandbox } from '../judges/lifecycle-judge-bed.ts';
import { podSpec } from '../../support/simulated-agent.ts';
import { hostContext } from './host-context.ts';

/** The runtime of a lifecycle judge's bed, and an agent that has started at 100 ms. */
function bed() {
  const { truth, sandboxes, calls, judge } = new LifecycleJudgeBed();
  const runtime = { ...truth, uids: () => sandboxes.map(({ uid }) => uid) };
  const lines: string[] = [];
  const started: string[] = [];
  const violations: string[] = [];
  const context = hostContext({
    tell: (what, { uid = '' } = {}, isMinor = false) =>
      lines.push(`${uid}${isMinor ? ' (minor)' : ''}: ${what}`),
    violated: ({ invariant, uid = '', what }) => violations.push(`${invariant} ${uid}: ${what}`),
  });
  const run = {
    judges: { startedAt: 100, lifecycle: judge },
    connection: { id: 2 },
    callBegan: () => undefined,
    landedLate: () => undefined,
  };
  const observer = new RuntimeObserver(context, {
    runtime: () => runtime as unknown as SimulatedRuntime,
    agentRun: () => run as unknown as AgentRun,
    contents: { started: ({ id }) => started.push(id) },
    hooks: { commandEnded: () => undefined },
    onCall: () => undefined,
    equipment: { started: () => undefined },
    onChange: () => undefined,
  });
  const { tally, pods } = context;
  return { observer, sandboxes, calls, tally, pods, lines, reported: () => violations, started };
}

test('calls are counted with their outcome, and reads are minor lines', () => {
  const { observer, tally, lines } = bed();
  observer.callEnded(call('ContainerStatus', { landed: true }), 'done');
  observer.callEnded(call('StopContainer', { target: 'c1' }), 'Unavailable');
  observer.callEnded(call('StopPodSandbox', { target: 's1' }), 'done');
  expect(lines).toEqual([
    'uid-of-web (minor): ContainerStatus: done',
    'uid-of-web: StopContainer c1: Unavailable',
    'uid-of-web: StopPodSandbox s1: not done, though the runtime says so',
  ]);
  expect(tally).toEqual({ ...newTally(), calls: 3, failures: 2 });
});

test('a call about the whole node is counted, without a line', () => {
  const { observer, tally, lines } = bed();
  observer.callEnded(call('ListContainers', { uid: '' }), 'done');
  expect([tally.calls, lines]).toEqual([1, []]);
});

test('a container that runs twice violates I10', () => {
  const { observer, sandboxes, tally, reported } = bed();
  const [one, two] = [container('c1'), container('c2')];
  sandboxes.push(sandbox(true, one));
  observer.containerStarted(one);
  expect(reported()).toEqual([]);
  sandboxes.push(sandbox(true, two));
  observer.containerStarted(two);
  expect([reported(), tally.starts]).toEqual([['I10 uid-of-web: main runs twice: c1 and c2'], 2]);
});

/** Two static pods of one name. The first has run since before the agent started. */
function twoOfOneName() {
  const at = bed();
  const spec = podSpec();
  for (const uid of ['uid-1', 'uid-2']) at.pods.add({ uid, name: 'web', source: 'file', spec });
  at.sandboxes.push({ ...sandbox(true, container('c1', { uid: 'uid-1', startedAt: 50 })), uid: 'uid-1' });
  const second = container('c2', { uid: 'uid-2' });
  at.sandboxes.push({ ...sandbox(true, second), uid: 'uid-2', createdAt: 200 });
  return { ...at, second };
}

test('a static pod that starts beside another one of its name violates I6', () => {
  const { observer, second, reported } = twoOfOneName();
  observer.containerStarted(second);
  expect(reported()).toEqual(['I6 uid-2: starts while uid-1 of the same name runs']);
});

test('the agent is not blamed for a start that an earlier agent has asked for', () => {
  const { observer, second, calls, reported } = twoOfOneName();
  calls.push(call('StartContainer', { uid: 'uid-2', target: 'c2', abandoned: true, connection: 1 }));
  observer.containerStarted(second);
  expect(reported()).toEqual([]);
});

test('the contents of a container are judged when it starts, unless no agent waits for it any more', () => {
  const { observer, calls, started } = bed();
  observer.containerStarted(container('c1'));
  calls.push(call('StartContainer', { target: 'c2', abandoned: true }));
  observer.containerStarted(container('c2', { metadata: { name: 'side', attempt: 0 } }));
  expect(started).toEqual(['c1']);
});
