import { createActor } from 'xstate';
import type { PodActor, PodSnapshot } from '../../../src/agent/actors/pods/pod-registry.ts';
import type { PodContext, PodEvent, RuntimeHolds } from '../../../src/agent/machines/pod-context.ts';
import type { KillPodOptions } from '../../../src/agent/policies/termination/pod-termination.ts';
import type { CallName } from '../../../src/simulation/runtime/chance.ts';
import type { CallUnderWay, ContainerTruth, SandboxTruth } from '../../../src/simulation/runtime/witness.ts';
import type { Violation } from '../../../src/simulation/history.ts';
import type { EffectName } from '../../../src/simulation/judges/effect-judge.ts';
import { LifecycleJudge } from '../../../src/simulation/judges/lifecycle-judge.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { testPod } from '../../support/pods.ts';
import { LEAVE_TO_START, podChart } from '../../support/pod-chart.ts';

/** The connection of the judged agent to the runtime. */
const CONNECTION = 2;

export const SYNCED: PodEvent = { type: 'SYNC_DONE', terminal: false, again: false };
export const AT_REST: PodEvent = { type: 'AT_REST' };
export const STOPPED: PodEvent = { type: 'STOP_DONE' };
export const CLEANED_UP: PodEvent = { type: 'CLEANUP_DONE' };

export function killed(graceSeconds?: number, options: KillPodOptions = {}): PodEvent {
  const grace = graceSeconds !== undefined && { podTerminationGracePeriodSecondsOverride: graceSeconds };
  return { type: 'SyncPodKill', options: { ...options, ...grace } };
}

/** A lifecycle judge, a runtime that the test fills, and pods whose events the test sends. */
export class LifecycleJudgeBed {
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
  readonly judge = new LifecycleJudge(
    { node: 3, truth: this.truth, onViolation: (violation) => this.violations.push(violation) },
    CONNECTION,
  );

  /** A pod that was asked for, and awaits its start. */
  pod(pod: Pod = testPod(), runtimeHolds?: RuntimeHolds): JudgedPod {
    return new JudgedPod(this.judge, pod, runtimeHolds).send({ type: 'SyncPodCreate', pod });
  }

  settled(pod?: Pod): JudgedPod {
    return this.pod(pod).send(...LEAVE_TO_START, SYNCED);
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

/** Watches the pods. */
type Observer = Pick<LifecycleJudge, 'onSnapshot' | 'effectBegins'>;

/** A pod on the production chart. Its effects do nothing. They end with the events that the test sends. */
export class JudgedPod {
  readonly #judge: Observer;
  readonly #actor: PodActor;
  /** Begins after the judge has seen the snapshot that asks for it. */
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

  /** Shows the judge this as the pod's next snapshot, which may differ from the chart's. */
  show(snapshot: PodSnapshot, event: PodEvent = { type: 'SyncPodSync' }): boolean {
    return this.#judge.onSnapshot(this.#actor, snapshot, event);
  }

  /** Begins an effect for which the chart did not ask. */
  begin(name: EffectName, more: Partial<PodContext> = {}): void {
    this.#judge.effectBegins(name, { ...this.snapshot.context, ...more }, new AbortController().signal);
  }

  #begin(): void {
    if (this.#due === undefined) return;
    const { name, context, controller } = this.#due;
    this.#due = undefined;
    this.#ended = this.#judge.effectBegins(name, context, controller.signal);
  }

  #machine(): typeof podChart {
    const starts =
      (name: EffectName) =>
      ({ context }: { context: PodContext }) => {
        this.#controller = new AbortController();
        this.#due = { name, context, controller: this.#controller };
      };
    const aborts = () => this.#controller?.abort();
    return podChart.provide({
      actions: {
        startSync: starts('syncPod'),
        startStop: starts('stopPod'),
        startCleanup: starts('cleanUpPod'),
        abortSync: aborts,
        abortStop: aborts,
      },
    });
  }
}

/** A call about the pod `web`, by the judged agent. */
export function call(name: CallName, more: Partial<CallUnderWay> = {}): CallUnderWay {
  return {
    name,
    uid: 'uid-of-web',
    ordinal: 1,
    target: '',
    connection: CONNECTION,
    beganAt: 0,
    abandoned: false,
    landed: false,
    ...more,
  };
}

/** A running container of `web`. */
export function container(id: string, more: Partial<ContainerTruth> = {}): ContainerTruth {
  return {
    id,
    uid: 'uid-of-web',
    metadata: { name: 'main', attempt: 0 },
    image: 'app',
    envs: [],
    resources: undefined,
    state: 'CONTAINER_RUNNING',
    createdAt: 0,
    startedAt: 0,
    finishedAt: 0,
    exitCode: 0,
    reason: '',
    ...more,
  };
}

/** A sandbox of `web`. */
export function sandbox(ready: boolean, ...containers: ContainerTruth[]): SandboxTruth {
  const metadata = { name: 'web', uid: 'uid-of-web', namespace: 'default', attempt: 0 };
  return { id: 's1', uid: 'uid-of-web', metadata, createdAt: 0, ready, containers };
}
