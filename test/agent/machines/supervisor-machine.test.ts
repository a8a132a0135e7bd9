import { describe, expect, test } from '@jest/globals';
import { createActor } from 'xstate';
import { supervisorMachine, type SupervisorEvent } from '../../../src/agent/machines/supervisor-machine.ts';
import { testPod } from '../../support/pods.ts';
import { Stepper } from '../../support/stepper.ts';

const PODS = { source: 'file', pods: [testPod()] };
const config = (op: 'ADD' | 'UPDATE' | 'DELETE' | 'REMOVE' | 'RECONCILE'): SupervisorEvent => ({
  type: `CONFIG.${op}`,
  ...PODS,
});
const seen = (source: string): SupervisorEvent => ({ type: 'SOURCE_SEEN', source });
const probe = (kind: 'liveness' | 'readiness' | 'startup', result: 'Success' | 'Failure') =>
  ({ type: 'PROBE', uid: 'u', probe: kind, result }) as const;
const shutdown = (exitWithPods: boolean): SupervisorEvent => ({ type: 'SHUTDOWN', exitWithPods });
const READY: SupervisorEvent = { type: 'RUNTIME_READY' };
const NOT_READY: SupervisorEvent = { type: 'RUNTIME_NOT_READY', problem: 'it is down' };
const PLEG: SupervisorEvent = { type: 'PLEG', uid: 'u' };
const SYNC: SupervisorEvent = { type: 'SYNC', uids: ['u'] };
const HOUSEKEEPING: SupervisorEvent = { type: 'HOUSEKEEPING' };
const AWAITED: SupervisorEvent = { type: 'RUNTIME_AWAITED', uid: 'u' };
const TERMINATED: SupervisorEvent = { type: 'POD_TERMINATED', uid: 'u' };
const FINISHED: SupervisorEvent = { type: 'POD_FINISHED', uid: 'u', restartRequested: false };
const ALL_GONE: SupervisorEvent = { type: 'ALL_PODS_GONE' };
const POD_ERROR: SupervisorEvent = {
  type: 'xstate.error.actor.u',
  error: new Error('poisoned'),
  actorId: 'u',
};

const fresh = (...sources: string[]) => new Stepper(supervisorMachine, { sources });
const gathering = () => fresh('file', 'http').send(READY);
const ready = () => fresh('file').send(READY, seen('file'));
const notReady = () => fresh('file').send(seen('file'));
const ending = () => ready().send(shutdown(true));
const stopped = () => ready().send(shutdown(false));
const everywhere: [string, () => Stepper<typeof supervisorMachine>][] = [
  ['gathering', gathering],
  ['ready', ready],
  ['runtime not ready', notReady],
  ['ending pods', ending],
  ['stopped', stopped],
];

describe('the initial state', () => {
  test('no action runs before the sources and the runtime have reported', () => {
    const it = fresh('file');
    expect(it.state).toBe('Sources.Gathering Runtime.NotReady Loop.Running');
    expect(it.asked).toEqual([]);
    expect(it.context.runtimeProblem).toBe('the runtime has not been asked yet');
  });

  test('without a source, the sources are ready at once', () => {
    const it = fresh();
    expect(it.state).toBe('Sources.Ready Runtime.NotReady Loop.Running');
    expect(it.asked).toEqual(['reportSourcesReady']);
  });
});

describe('sources', () => {
  test('are ready when all of them have been seen, in any order, and this is reported once', () => {
    const it = fresh('file', 'http').send(seen('http'));
    expect([it.state, it.asked]).toEqual(['Sources.Gathering Runtime.NotReady Loop.Running', []]);
    it.send(seen('file'));
    expect([it.state, it.asked]).toEqual([
      'Sources.Ready Runtime.NotReady Loop.Running',
      ['reportSourcesReady'],
    ]);
    expect(it.send(seen('file')).asked).toEqual([]);
  });

  test('that are seen several times count once', () => {
    const it = fresh('file', 'http').send(seen('file'), seen('file'), seen('api'));
    expect(it.state).toContain('Sources.Gathering');
    expect(it.context.unseenSources).toEqual(['http']);
  });

  test('are not marked as seen by their pods', () => {
    expect(gathering().send(config('ADD')).context.unseenSources).toEqual(['file', 'http']);
  });
});

describe('configuration', () => {
  test.each([
    ['ADD', ['handlePodAdditions']],
    ['UPDATE', ['handlePodUpdates']],
    ['DELETE', ['handlePodUpdates']],
    ['REMOVE', ['dropDesiredPods', 'handlePodRemoves']],
    ['RECONCILE', ['handlePodReconcile']],
  ] as const)('%s: %j', (op, asked) => {
    expect(ready().send(config(op)).asked).toEqual(asked);
  });

  test('before all sources have been seen, REMOVE only removes pods from the desired set', () => {
    expect(gathering().send(config('REMOVE')).asked).toEqual(['dropDesiredPods']);
  });

  test.each(['ADD', 'UPDATE'] as const)('%s does not wait for the sources or the runtime', (op) => {
    expect(fresh('file').send(config(op)).asked).toHaveLength(1);
  });

  test.each(['ADD', 'UPDATE', 'DELETE', 'REMOVE', 'RECONCILE'] as const)(
    '%s changes nothing while the agent stops',
    (op) => {
      expect(ending().send(config(op)).asked).toEqual([]);
      expect(stopped().send(config(op)).asked).toEqual([]);
    },
  );
});

describe('the runtime', () => {
  test('if it becomes ready, every pod goes on', () => {
    const it = notReady().send(READY);
    expect(it.asked).toEqual(['reportRuntimeState', 'resumeAllPods']);
    expect(it.context.runtimeProblem).toBeUndefined();
  });

  test('if it is ready again, nothing changes', () => {
    expect(ready().send(READY).asked).toEqual([]);
  });

  test('if it is not ready any more, each problem is reported, and the newest one is kept', () => {
    const it = ready().send(NOT_READY);
    expect([it.state, it.asked]).toEqual([
      'Sources.Ready Runtime.NotReady Loop.Running',
      ['reportRuntimeState', 'tellRuntimeProblem'],
    ]);
    it.send({ type: 'RUNTIME_NOT_READY', problem: 'still down' });
    expect(it.asked).toEqual(['reportRuntimeState', 'tellRuntimeProblem']);
    expect(it.context.runtimeProblem).toBe('still down');
  });

  test('a pod that is to start gets the answer whether the runtime is ready', () => {
    expect(notReady().send(AWAITED).asked).toEqual(['answerRuntimeNotReady']);
    expect(ready().send(AWAITED).asked).toEqual(['answerRuntimeReady']);
    expect(ready().send(NOT_READY, AWAITED).asked).toEqual(['answerRuntimeNotReady']);
  });

  test('no pod is synced until the runtime is ready', () => {
    expect(notReady().send(SYNC).asked).toEqual([]);
    expect(ready().send(SYNC).asked).toEqual(['handlePodSyncs']);
  });
});

describe('events of single pods', () => {
  test.each(everywhere)('%s: a PLEG event is handled', (_name, at) => {
    expect(at().send(PLEG).asked).toEqual(['handlePodLifecycleEvents']);
  });

  test.each([
    ['liveness', 'Failure'],
    ['startup', 'Failure'],
    ['readiness', 'Failure'],
    ['readiness', 'Success'],
  ] as const)('a %s probe: %s leads to a sync', (kind, result) => {
    expect(ready().send(probe(kind, result)).asked).toEqual(['handleProbeResult']);
  });

  test('a liveness probe that succeeds changes nothing', () => {
    expect(ready().send(probe('liveness', 'Success')).asked).toEqual([]);
  });

  test('a startup probe that succeeds leads to a sync, because containers that waited for it can start', () => {
    expect(ready().send(probe('startup', 'Success')).asked).toEqual(['handleProbeResult']);
  });

  test.each(everywhere)('%s: the end of a pod is handled', (_name, at) => {
    expect(at().send(TERMINATED).asked).toEqual(['handlePodTerminated']);
    expect(at().send(FINISHED).asked).toEqual(['handlePodFinished']);
  });

  test.each(everywhere)(
    '%s: an error of a pod actor is handled, and the state of the supervisor stays the same',
    (_name, at) => {
      const it = at();
      const before = it.state;
      it.send(POD_ERROR);
      expect([it.state, it.asked]).toEqual([before, ['handlePodError']]);
    },
  );

  test('the actor of a forgotten pod is stopped', () => {
    const parent = createActor(supervisorMachine, { input: { sources: ['file'] } }).start();
    const child = createActor(supervisorMachine, { parent, input: { sources: ['file'] } }).start();
    parent.send({ type: 'ACTOR_FORGOTTEN', actor: child });
    expect([child.getSnapshot().status, parent.getSnapshot().status]).toEqual(['stopped', 'active']);
  });
});

describe('housekeeping', () => {
  test('begins when all sources have been seen', () => {
    expect(gathering().send(HOUSEKEEPING).asked).toEqual([]);
    expect(ready().send(HOUSEKEEPING).asked).toEqual(['handlePodCleanups']);
  });

  test.each([
    ['runtime not ready', notReady],
    ['ending pods', ending],
  ])('goes on while %s', (_name, at) => {
    expect(at().send(HOUSEKEEPING).asked).toEqual(['handlePodCleanups']);
  });
});

describe('shutdown', () => {
  test('with pods kills the pods, and waits until all of them are gone', () => {
    const it = ready().send(shutdown(true));
    expect([it.state, it.asked]).toEqual(['Sources.Ready Runtime.Ready Loop.EndingPods', ['killAllPods']]);
    it.send(ALL_GONE);
    expect([it.state, it.asked]).toEqual(['Sources.Ready Runtime.Ready Loop.Stopped', ['reportStopped']]);
  });

  test('without pods stops the supervisor at once', () => {
    const it = ready().send(shutdown(false));
    expect([it.state, it.asked]).toEqual(['Sources.Ready Runtime.Ready Loop.Stopped', ['reportStopped']]);
  });

  test('works before the sources or the runtime are ready', () => {
    expect(fresh('file').send(shutdown(true)).asked).toEqual(['killAllPods']);
    expect(fresh('file').send(shutdown(false)).asked).toEqual(['reportStopped']);
  });

  test('with pods does not kill the pods a second time if it is repeated', () => {
    const it = ending().send(shutdown(true));
    expect([it.state, it.asked]).toEqual(['Sources.Ready Runtime.Ready Loop.EndingPods', []]);
  });

  test('without pods stops the supervisor at once, even after a shutdown with pods', () => {
    expect(ending().send(shutdown(false)).asked).toEqual(['reportStopped']);
  });

  test('reports the stop once', () => {
    expect(stopped().send(shutdown(true), shutdown(false), ALL_GONE).asked).toEqual([]);
  });

  test('does not begin when all pods are gone', () => {
    expect(ready().send(ALL_GONE).state).toContain('Loop.Running');
  });
});
