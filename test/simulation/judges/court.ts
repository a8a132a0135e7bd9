import { createActor } from 'xstate';
import type { PodActor, PodSnapshot } from '../../../src/actors/pods/pod-registry.ts';
import {
  type PodContext,
  podMachine,
  type PodEvent,
  type RuntimeHolds,
} from '../../../src/machines/pod-machine.ts';
import type { KillPodOptions } from '../../../src/policies/sync/pod-termination.ts';
import type { CallName } from '../../../src/runtime/simulated/latencies.ts';
import type { CallUnderWay, ContainerTruth, SandboxTruth } from '../../../src/runtime/simulated/witness.ts';
import { type EffectName, LifeJudge, type Violation } from '../../../src/simulation/judges/judge.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { testPod } from '../../support/pods.ts';

/** Of the agent that is judged. */
const CONNECTION = 2;

export const SYNCED: PodEvent = { type: 'SYNC_DONE', terminal: false, again: false };
export const AT_REST: PodEvent = { type: 'AT_REST' };
export const STOPPED: PodEvent = { type: 'STOP_DONE' };
export const CLEANED_UP: PodEvent = { type: 'CLEANUP_DONE' };

export function killed(graceSeconds?: number, options: KillPodOptions = {}): PodEvent {
  const grace = graceSeconds !== undefined && { podTerminationGracePeriodSecondsOverride: graceSeconds };
  return { type: 'SyncPodKill', options: { ...options, ...grace } };
}

/** A judge, what is true of the runtime, and pods that the test leads by hand. */
export class Court {
  readonly violations: Violation[] = [];
  readonly sandboxes: SandboxTruth[] = [];
  readonly calls: CallUnderWay[] = [];
  readonly truth = {
    sandboxesOf: (uid: string): SandboxTruth[] => this.sandboxes.filter((one) => one.uid === uid),
    inFlight: (uid: string): CallUnderWay[] => this.calls.filter((one) => one.uid === uid),
    isRunning: (uid: string): boolean =>
      this.truth
        .sandboxesOf(uid)
        .some(
          ({ ready, containers }) => ready || containers.some(({ state }) => state === 'CONTAINER_RUNNING'),
        ),
  };
  readonly judge = new LifeJudge(
    { node: 3, truth: this.truth, onViolation: (violation) => this.violations.push(violation) },
    CONNECTION,
  );

  /** A pod that has just come into being, and was asked for. */
  pod(pod: Pod = testPod(), runtimeHolds?: RuntimeHolds): JudgedPod {
    return new JudgedPod(this.judge, pod, runtimeHolds).send({ type: 'SyncPodCreate', pod });
  }

  settled(pod?: Pod): JudgedPod {
    return this.pod(pod).send({ type: 'START_GRANTED' }, SYNCED);
  }

  /** `I3: what`. */
  get reported(): readonly string[] {
    return this.violations.map(({ invariant, what }) => `${invariant}: ${what}`);
  }
}

interface Effect {
  readonly name: EffectName;
  readonly context: PodContext;
  readonly controller: AbortController;
}

/** What pods are shown to. */
type Observer = Pick<LifeJudge, 'sees' | 'effectBegins'>;

/** The production machine, whose effects do nothing but begin, be told to stop, and end with the events that say so. */
export class JudgedPod {
  readonly #judge: Observer;
  readonly #actor: PodActor;
  /** An actor begins an effect only once its snapshot shows that it is due. */
  #due: Effect | undefined;
  #controller: AbortController | undefined;
  #ended: (() => void) | undefined;

  constructor(
    judge: Observer,
    { metadata: { uid, name, namespace } }: Pod,
    runtimeHolds: RuntimeHolds = 'nothing',
  ) {
    const input = { uid, fullName: `${name}_${namespace}`, runtimeHolds };
    this.#judge = judge;
    this.#actor = createActor(this.#machine(), { input }).start();
  }

  get snapshot(): PodSnapshot {
    return this.#actor.getSnapshot();
  }

  send(...events: PodEvent[]): this {
    for (const event of events) {
      if (/^(?:SYNC|STOP|CLEANUP|AT)_/.test(event.type)) this.#ended?.();
      this.#actor.send(event);
      this.show(this.snapshot, event);
      this.#begin();
    }
    return this;
  }

  /** Shows the judge this as the pod's next snapshot, whatever its chart says. */
  show(snapshot: PodSnapshot, event: PodEvent = { type: 'SyncPodSync' }): boolean {
    return this.#judge.sees(this.#actor, snapshot, event);
  }

  /** An effect begins of which the chart knows nothing. */
  begin(name: EffectName, more: Partial<PodContext> = {}): void {
    this.#judge.effectBegins(name, { ...this.snapshot.context, ...more }, new AbortController().signal);
  }

  #begin(): void {
    if (this.#due === undefined) return;
    const { name, context, controller } = this.#due;
    this.#due = undefined;
    this.#ended = this.#judge.effectBegins(name, context, controller.signal);
  }

  #machine(): typeof podMachine {
    const nothing = () => undefined;
    const starts =
      (name: EffectName) =>
      ({ context }: { context: PodContext }) => {
        this.#controller = new AbortController();
        this.#due = { name, context, controller: this.#controller };
      };
    const aborts = () => this.#controller?.abort();
    return podMachine.provide({
      actions: {
        ...{ startSync: starts('syncPod'), startStop: starts('stopPod'), startCleanup: starts('cleanUpPod') },
        ...{ abortSync: aborts, abortStop: aborts, requestStart: nothing },
        ...{ armResync: nothing, disarmResync: nothing, answerWaiters: nothing, answerThisWaiter: nothing },
        ...{ reportTerminated: nothing, reportFinished: nothing },
      },
    });
  }
}

/** Of the pod `web`, by the agent that is judged. */
export function call(name: CallName, more: Partial<CallUnderWay> = {}): CallUnderWay {
  return {
    ...{ name, uid: 'uid-of-web', ordinal: 1, target: '', connection: CONNECTION, beganAt: 0 },
    ...{ abandoned: false, landed: false },
    ...more,
  };
}

/** One of `web` that runs. */
export function container(id: string, more: Partial<ContainerTruth> = {}): ContainerTruth {
  return {
    ...{
      id,
      uid: 'uid-of-web',
      metadata: { name: 'main', attempt: 0 },
      image: 'app',
      state: 'CONTAINER_RUNNING' as const,
    },
    ...{ createdAt: 0, startedAt: 0, finishedAt: 0, exitCode: 0, reason: '' },
    ...more,
  };
}

/** Of `web`. */
export function sandbox(ready: boolean, ...containers: ContainerTruth[]): SandboxTruth {
  const metadata = { name: 'web', uid: 'uid-of-web', namespace: 'default', attempt: 0 };
  return { id: 's1', uid: 'uid-of-web', metadata, createdAt: 0, ready, containers };
}
