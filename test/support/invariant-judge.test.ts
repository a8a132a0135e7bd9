import { beforeEach, describe, expect, test } from '@jest/globals';
import type { InspectionEvent } from 'xstate';
import type { PodEffects } from '../../src/agent/actors/pods/pod-actor.ts';
import type { PodContext } from '../../src/agent/machines/pod-machine.ts';
import { type PathNode, LASTING_COMMAND, simulatedPathNode } from '../paths/path-node.ts';
import { InvariantJudge, type JudgedAgent } from './invariant-judge.ts';

import { containerConfig, startPod } from './runtime-configs.ts';
import type { Call, Method } from './steered-runtime.ts';

const UID = 'uid-of-web';

let pathNode: PathNode;
let judge: InvariantJudge;

beforeEach(() => {
  pathNode = simulatedPathNode();
  judge = new InvariantJudge(pathNode.runtime);
});

const call = (method: Method, uid = UID, args: readonly unknown[] = []): Call => ({
  method,
  uid,
  args,
  signal: undefined,
});
const actor = {};
/** The pod's actor shows this phase. */
function isIn(phase: string, { uid = UID, gracePeriodSeconds = 30, status = 'active' } = {}): void {
  const context = { uid, runtimeHolds: 'nothing', gracePeriodSeconds };
  const snapshot = { value: { [phase]: 'Somewhere' }, context, status, error: new Error('poisoned') };
  judge.inspect({ type: '@xstate.microstep', actorRef: actor, snapshot } as unknown as InspectionEvent);
}
const found = async () => (await judge.check()).map((line) => line.split(' ', 1)[0]);
function agentWhere(killPod: () => Promise<void>): JudgedAgent {
  return { supervisor: { killPod }, statusManager: { get: () => undefined } } as unknown as JudgedAgent;
}
const never = () => new Promise<void>(() => undefined);

describe('the judge reports', () => {
  test('nothing for a pod that runs and ends correctly', async () => {
    isIn('Syncing', { gracePeriodSeconds: Infinity });
    const start = call('startContainer');
    judge.begun(start);
    judge.ended(start);
    isIn('Terminating');
    isIn('Terminating', { gracePeriodSeconds: 5 });
    isIn('Terminated', { gracePeriodSeconds: 5 });
    judge.begun(call('release'));
    expect(await found()).toEqual([]);
  });

  test('I1: a step back', async () => {
    isIn('Terminating');
    isIn('Syncing');
    expect(await found()).toEqual(['I1']);
  });

  test.each(['Terminating', 'Terminated'])('I2: a start that is issued in %s', async (phase) => {
    isIn(phase);
    judge.begun(call('createContainer'));
    expect(await found()).toEqual(['I2']);
  });

  test('I2: a start that is in flight when Terminating begins', async () => {
    isIn('Syncing');
    judge.begun(call('startContainer'));
    isIn('Terminating');
    expect(await found()).toEqual(['I2']);
  });

  test('I3: something that runs in Terminated', async () => {
    const { sandbox } = await startPod(pathNode.runtime, '/nowhere', containerConfig(LASTING_COMMAND));
    isIn('Terminated', { uid: sandbox.metadata.uid });
    expect(await found()).toContain('I3');
  });

  test('I4: a grace period that grows, in the actor and in the calls to the runtime', async () => {
    isIn('Terminating', { gracePeriodSeconds: 5 });
    isIn('Terminating', { gracePeriodSeconds: 6 });
    judge.begun(call('stopContainer', UID, ['c1', 5]));
    judge.begun(call('stopContainer', UID, ['c1', 6]));
    expect(await found()).toEqual(['I4', 'I4']);
  });

  test('I5: two effects at the same time, and an actor that failed', async () => {
    const effects = judge.wrapEffects({ syncPod: never, stopPod: never } as unknown as PodEffects);
    const { signal } = new AbortController();
    void effects.syncPod({ uid: UID } as PodContext, signal);
    void effects.stopPod({ uid: UID } as PodContext, signal);
    isIn('Syncing', { status: 'error' });
    expect(await found()).toEqual(['I5', 'I5']);
  });

  test('I6: two pods of one name that run', async () => {
    for (const uid of ['uid-1', 'uid-2']) {
      const metadata = { name: 'web', namespace: 'default', uid, attempt: 0 };
      const labels = { 'io.kubernetes.pod.uid': uid };
      await startPod(pathNode.runtime, '/nowhere', containerConfig(LASTING_COMMAND), { metadata, labels });
    }
    expect(await found()).toEqual(['I6']);
  });

  test('I7: a kill without an answer when the pod is Terminated, or earlier', async () => {
    isIn('Terminating');
    judge.kill(agentWhere(never), UID, {});
    expect(await found()).toEqual([]);
    isIn('Terminated');
    expect(await found()).toEqual(['I7']);
  });

  test('I7: a kill that is answered before its time', async () => {
    isIn('Terminating');
    judge.kill(
      agentWhere(() => Promise.resolve()),
      UID,
      {},
    );
    await Promise.resolve();
    expect(await found()).toEqual(['I7']);
  });

  test('I8: a release before Terminated', async () => {
    isIn('Terminating');
    judge.begun(call('release'));
    expect(await found()).toEqual(['I8']);
  });

  test('I9: a kill that changes the pod directly', async () => {
    isIn('Syncing');
    const killAndStop = () => {
      judge.begun(call('stopContainer', UID, ['c1', 2]));
      return never();
    };
    judge.kill(agentWhere(killAndStop), UID, {});
    expect(await found()).toEqual(['I9']);
  });
});
