import { beforeEach, describe, expect, test } from '@jest/globals';
import { createActor, fromTransition } from 'xstate';
import {
  type Effect,
  EffectSlots,
  type PodMachineParts,
  providePodMachine,
} from '../../../../src/agent/actors/pods/pod-actor.ts';
import type { PodEvent } from '../../../../src/agent/machines/pod-machine.ts';
import { rfc3339 } from '../../../../src/agent/policies/formats/time.ts';
import { settled, VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { sleep } from '../../../../src/system/timer.ts';
import { WorkQueue } from '../../../../src/system/work-queue.ts';
import { apiPod } from '../../../support/agent.ts';
import { testContext } from '../../../support/test-context.ts';

const STOPPED: PodEvent = { type: 'STOP_DONE' };
const FAILED: PodEvent = { type: 'STOP_FAILED' };

type Answer = (event: PodEvent) => void;

/** An actor that records the types of its events. */
const listener = () =>
  createActor(fromTransition((heard: string[], { type }: PodEvent) => [...heard, type], [])).start();

/** An effect that ends when the test says so. */
function effect() {
  const { promise, resolve, reject } = Promise.withResolvers<PodEvent>();
  const seen: { signal?: AbortSignal } = {};
  const it: Effect = {
    run: (signal) => {
      seen.signal = signal;
      return promise;
    },
    failed: () => FAILED,
  };
  return { ...it, seen, succeed: () => resolve(STOPPED), fail: () => reject(new Error('it failed')) };
}

let slots: EffectSlots;
let actor: ReturnType<typeof listener>;
const heard = () => actor.getSnapshot().context;

beforeEach(() => {
  slots = new EffectSlots();
  actor = listener();
});

describe('the pod gets exactly one event per effect', () => {
  test('an effect that succeeds sends its own event', async () => {
    const it = effect();
    slots.start(actor, it);
    await settled();
    expect(heard()).toEqual([]);
    it.succeed();
    await slots.atRest(actor);
    expect(heard()).toEqual(['STOP_DONE']);
  });

  test('an effect that fails sends its failure event', async () => {
    const it = effect();
    slots.start(actor, it);
    it.fail();
    await slots.atRest(actor);
    expect(heard()).toEqual(['STOP_FAILED']);
  });

  test('an aborted effect that gives up sends AT_REST, not before its end', async () => {
    const it = effect();
    slots.start(actor, it);
    await settled();
    slots.abort(actor);
    await settled();
    expect([it.seen.signal?.aborted, heard()]).toEqual([true, []]);
    it.fail();
    await slots.atRest(actor);
    expect(heard()).toEqual(['AT_REST']);
  });

  test('an aborted effect that succeeds sends its own event', async () => {
    const it = effect();
    slots.start(actor, it);
    slots.abort(actor);
    it.succeed();
    await slots.atRest(actor);
    expect(heard()).toEqual(['STOP_DONE']);
  });

  test('an effect that throws before its first step has failed', async () => {
    const run = () => {
      throw new Error('no step was taken');
    };
    slots.start(actor, { run, failed: () => FAILED });
    await slots.atRest(actor);
    expect(heard()).toEqual(['STOP_FAILED']);
  });

  test('a second abort changes nothing', async () => {
    const it = effect();
    slots.start(actor, it);
    slots.abort(actor);
    slots.abort(actor);
    it.fail();
    await slots.atRest(actor);
    expect(heard()).toEqual(['AT_REST']);
  });
});

test('a deadline that passes during a sync is seen by a sync a second after it', async () => {
  const clock = new VirtualClock();
  const begun = clock.now();
  const pod = { ...apiPod('web', 'uid-web'), spec: { containers: [], activeDeadlineSeconds: 62 } };
  const status = { startTime: rfc3339(begun) };
  const syncs: number[] = [];
  const queue = new WorkQueue(clock, () => web.send({ type: 'SyncPodSync' }));
  const parts = {
    slots: new EffectSlots(),
    workQueue: queue,
    syncFrequencyMs: 60_000,
    statusManager: { get: () => status, admit: () => undefined },
    gates: {
      awaitRuntime: (_: unknown, answer: Answer) => answer({ type: 'RUNTIME_READY' }),
      awaitRemoval: (_: unknown, answer: Answer) => answer({ type: 'REMOVED' }),
      requestName: (_: unknown, answer: Answer) => answer({ type: 'NAME_GRANTED' }),
      requestRoom: (_: unknown, answer: Answer) => answer({ type: 'ADMITTED' }),
    },
    effects: {
      syncPod: async (_: unknown, signal: AbortSignal) => {
        syncs.push((clock.now() - begun) / 1000);
        await sleep(clock, 3_000, signal);
        return { type: 'SYNC_DONE', terminal: false, again: false } as const;
      },
    },
  } as unknown as PodMachineParts;
  const input = { uid: 'uid-web', fullName: 'web_default', runtimeHolds: 'running' as const };
  const web = createActor(providePodMachine(testContext({ clock, random: () => 0 }), parts), {
    input,
  }).start();
  web.send({ type: 'SyncPodCreate', pod });
  await clock.advance(60_000);
  web.send({ type: 'SyncPodSync' });
  await clock.advance(5_000);
  expect(syncs).toEqual([0, 60, 64]);
  web.stop();
});

describe('at most one effect per pod (I5)', () => {
  test('I5: a second effect while the first one is in flight is an error', () => {
    slots.start(actor, effect());
    expect(() => slots.start(actor, effect())).toThrow('I5');
  });

  test('I5: an aborted effect is in flight until it is at rest', async () => {
    const it = effect();
    slots.start(actor, it);
    slots.abort(actor);
    expect(() => slots.start(actor, effect())).toThrow('I5');
    it.fail();
    await slots.atRest(actor);
    slots.start(actor, effect());
  });

  test('the event of an effect may start the next effect', async () => {
    const [first, second] = [effect(), effect()];
    slots.start(actor, first);
    const subscription = actor.subscribe(() => {
      subscription.unsubscribe();
      slots.start(actor, second);
    });
    first.succeed();
    await slots.atRest(actor);
    second.fail();
    await slots.atRest(actor);
    expect(heard()).toEqual(['STOP_DONE', 'STOP_FAILED']);
  });

  test('effects of different pods run at the same time, and an abort affects one pod', async () => {
    const other = listener();
    const [one, two] = [effect(), effect()];
    slots.start(actor, one);
    slots.start(other, two);
    await settled();
    slots.abort(actor);
    expect([one.seen.signal?.aborted, two.seen.signal?.aborted]).toEqual([true, false]);
  });

  test('no effect starts within the call that asks for it', async () => {
    let begun = false;
    const run = () => {
      begun = true;
      return Promise.resolve(STOPPED);
    };
    slots.start(actor, { run, failed: () => FAILED });
    expect(begun).toBe(false);
    await slots.atRest(actor);
    expect(begun).toBe(true);
  });
});

test('abort and atRest do nothing if no effect is in flight', async () => {
  slots.abort(actor);
  await slots.atRest(actor);
  expect(heard()).toEqual([]);
});

describe('closing', () => {
  test('aborts every effect, and resolves when the last effect is at rest', async () => {
    const [one, two] = [effect(), effect()];
    slots.start(actor, one);
    slots.start(listener(), two);
    await settled();
    let closed = false;
    void slots.close().then(() => (closed = true));
    expect([one.seen.signal?.aborted, two.seen.signal?.aborted]).toEqual([true, true]);
    one.fail();
    await settled();
    expect(closed).toBe(false);
    two.succeed();
    await settled();
    expect(closed).toBe(true);
  });

  test('lets no effect start, not even by the event of an effect that was in flight', async () => {
    const [first, second] = [effect(), effect()];
    slots.start(actor, first);
    actor.subscribe(() => slots.start(actor, second));
    const closed = slots.close();
    first.succeed();
    await closed;
    slots.start(actor, second);
    await settled();
    expect(second.seen.signal).toBeUndefined();
  });
});
