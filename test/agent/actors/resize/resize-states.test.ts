import { expect, test } from '@jest/globals';
import { createActor } from 'xstate';
import { runningActors } from '../../../../src/agent/actors/agent-actor.ts';
import { ResizeStates } from '../../../../src/agent/actors/resize/resize-states.ts';
import { resizeMachine } from '../../../../src/agent/machines/resize-machine.ts';
import { supervisorMachine } from '../../../../src/agent/machines/supervisor-machine.ts';
import { allocationFromPod } from '../../../../src/agent/policies/resize/allocation.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { testPod } from '../../../support/pods.ts';
import { testContext } from '../../../support/test-context.ts';

const FORMER = testPod();
const { uid } = FORMER.metadata;
const LARGER: Pod = {
  ...FORMER,
  spec: { containers: [{ name: 'main', resources: { requests: { cpu: '2' } } }] },
};

function setUp() {
  const parent = createActor(supervisorMachine, { input: { sources: ['api'] } }).start();
  const context = testContext({ parent });
  const states = new ResizeStates(context);
  const resizes = () =>
    [...runningActors(parent)].map(({ id }) => id).filter((id) => id.startsWith('resize'));
  const decide = (message?: string) =>
    states.decide(LARGER, allocationFromPod(FORMER), () =>
      message === undefined ? undefined : { reason: 'OutOfcpu', message },
    );
  return { states, recorder: context.recorder, resizes, decide };
}

test('a resize has an actor from its request until everything has what was granted', () => {
  const { states, recorder, resizes, decide } = setUp();
  expect(resizes()).toEqual([]);
  states.asked(LARGER);
  expect(resizes()).toEqual([`resize web_default ${uid}`]);
  decide('no cpu is free');
  expect(states.conditionsOf(uid)).toMatchObject({
    pending: { reason: 'Deferred', message: 'no cpu is free' },
  });
  decide();
  states.progress(LARGER, true);
  expect(resizes()).toHaveLength(1);
  states.progress(LARGER, false);
  expect(resizes()).toEqual([]);
  expect(states.conditionsOf(uid)).toEqual({});
  expect(recorder.reasons).toEqual(['ResizeDeferred', 'ResizeStarted', 'ResizeCompleted']);
});

test('a request that is taken back while it waits ends its actor', () => {
  const { states, resizes, decide } = setUp();
  states.asked(LARGER);
  decide('no cpu is free');
  states.withdrawn(FORMER);
  expect(resizes()).toEqual([]);
});

test('the actor of a pod that has gone ends', () => {
  const { states, resizes } = setUp();
  states.asked(LARGER);
  states.forget(uid);
  expect(resizes()).toEqual([]);
});

test('a resize has failed since the first try, also where each try fails with another message', () => {
  const conditions = (message: string) => ({
    inProgress: { type: 'PodResizeInProgress', status: 'True', reason: 'Error', message } as const,
  });
  let entered = 0;
  const actor = createActor(resizeMachine, {
    inspect: (event) => {
      if (event.type !== '@xstate.microstep') return;
      entered += event._transitions.filter(({ target }) => target !== undefined).length;
    },
  }).start();
  for (const used of ['70', '71', '72'])
    actor.send({ type: 'FAILED', conditions: conditions(`${used} Mi used`) });
  expect(actor.getSnapshot().value).toMatchObject({ Actuation: 'Failing' });
  expect(actor.getSnapshot().context.conditions.inProgress?.message).toBe('72 Mi used');
  expect(entered).toBe(1);
});
