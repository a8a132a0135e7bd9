/** The effects of a probe actor: its timer, its runs, and what it sends to the supervisor. */
import type { ActorRefFrom, AnyActorRef } from 'xstate';
import { type ProbeContext, type ProbeEvent, probeMachine } from '../../machines/probe-machine.ts';
import type { SupervisorEvent } from '../../machines/supervisor-machine.ts';
import {
  type ProbeKind,
  probeOf,
  type ProbeRecord,
  type ProbeResult,
  type ProbeTarget,
  type Sighting,
  startedBefore,
} from '../../policies/probes/probe.ts';
import { beatFrom } from '../../policies/probes/probe-schedule.ts';
import { fullName } from '../../policies/pod/pod-kinds.ts';
import { type ProberDeps, probeContainer } from '../../runtime/probes/prober.ts';
import { Timer } from '../../system/timer.ts';
import { MAX_TIMER_MS } from '../../types/clock.ts';
import { errorMessage } from '../../types/errors.ts';
import type { Pod, PodStatus } from '../../types/kubernetes.ts';
import type { ProbedContainer, ProbeMeasurements } from '../../types/measurements.ts';
import type { KnownContainer } from '../../types/runtime-pod.ts';
import { podFields } from '../../types/logger.ts';
import { createActor } from '../agent-actor.ts';
import { sightingOf } from './probe-sighting.ts';

/** A probe has another result than before. */
export type ProbeNews = SupervisorEvent & { readonly type: 'PROBE' } & {
  /** Of the runtime. */
  readonly containerId: string;
};

export interface ProbeWorkerDeps extends ProberDeps {
  /** In [0, 1). */
  readonly random: () => number;
  /** Unix ms. */
  readonly agentStartedAt: number;
  readonly podStatus: (uid: string) => PodStatus | undefined;
  readonly podIP: (pod: Pod) => string | undefined;
  /** What an earlier agent has remembered of an instance of a container. */
  readonly knownContainer?: (uid: string, containerId: string) => KnownContainer | undefined;
  readonly send: (event: ProbeNews) => void;
  /** Called with the first probe: the supervisor may not be there yet when this object is made. */
  readonly parent?: () => AnyActorRef | undefined;
  readonly measurements?: ProbeMeasurements;
}

type ProbeActor = ActorRefFrom<typeof probeMachine>;

/** One probe of one container: at most one run in flight, and a timer only while the next one is waited for. */
export class ProbeWorker {
  readonly #deps: ProbeWorkerDeps;
  readonly #target: ProbeTarget;
  readonly #actor: ProbeActor;
  readonly #timer: Timer;
  #run: AbortController | undefined;

  constructor(machine: typeof probeMachine, target: ProbeTarget, deps: ProbeWorkerDeps) {
    const { clock, random, agentStartedAt, parent } = deps;
    this.#deps = deps;
    this.#timer = new Timer(clock);
    this.#target = target;
    const beat = beatFrom(clock.now(), agentStartedAt, probeOf(target), random());
    const root = parent?.();
    this.#actor = createActor(machine, {
      id: actorId(target),
      input: { target, beat },
      ...(root && { parent: root }),
    });
    this.#actor.subscribe({ error: (error: unknown) => this.#failed(error) });
  }

  get actor(): AnyActorRef {
    return this.#actor;
  }

  get kind(): ProbeKind {
    return this.#target.kind;
  }

  get containerId(): string | undefined {
    return this.#record.containerId;
  }

  /** The result for that container; undefined while there is none. */
  get result(): ProbeResult | undefined {
    return this.#record.result ?? (this.#hasStartedBefore() ? 'Success' : undefined);
  }

  get #record(): ProbeRecord {
    return this.#actor.getSnapshot().context.record;
  }

  #hasStartedBefore(): boolean {
    const container = this.#seen().seen?.container;
    if (container?.id !== this.containerId) return false;
    return startedBefore(this.#target, container, this.#deps.agentStartedAt);
  }

  start(): void {
    this.#actor.start();
    this.look();
  }

  /** The pod's status may have changed. */
  look(): void {
    this.#send({ type: 'STATUS', ...this.#seen() });
  }

  /** Nothing runs and nothing is armed any more; the record stays. */
  stop(): void {
    this.#send({ type: 'STOP' });
    this.#deps.measurements?.probeRemoved(measured(this.#target));
  }

  // Asked by the machine.

  armTimer(delayMs: number): void {
    const timerMs = Math.min(delayMs, MAX_TIMER_MS);
    this.#timer.arm(timerMs, () => {
      if (delayMs > timerMs) this.armTimer(delayMs - timerMs);
      else this.#send({ type: 'DUE', ...this.#seen() });
    });
  }

  disarmTimer(): void {
    this.#timer.disarm();
  }

  startProbe({ record }: ProbeContext): void {
    const run = new AbortController();
    this.#run = run;
    void this.#probe(record.containerId ?? '', run.signal);
  }

  abortProbe(): void {
    this.#run?.abort();
  }

  /** The supervisor reads the record, which is the old one until the transition is over. */
  reportResult({ record: { result, containerId = '' } }: ProbeContext): void {
    if (result !== 'Success' && result !== 'Failure') return;
    const { pod, kind } = this.#target;
    const { uid } = pod.metadata;
    queueMicrotask(() => this.#deps.send({ type: 'PROBE', uid, probe: kind, result, containerId }));
  }

  async #probe(containerId: string, signal: AbortSignal): Promise<void> {
    const event = await this.#outcome(containerId, signal);
    this.#run = undefined;
    this.#send(event);
  }

  async #outcome(containerId: string, signal: AbortSignal): Promise<ProbeEvent> {
    const target = this.#target;
    const { clock, podIP } = this.#deps;
    const end = this.#deps.measurements?.probe(measured(target));
    try {
      const run = { target, containerId, podIP: podIP(target.pod) };
      const outcome = await probeContainer(this.#deps, run, signal);
      // What a probe does after it was stopped has no metrics any more.
      if (!signal.aborted) end?.(outcome === 'Error' ? undefined : outcome);
      if (!signal.aborted) return { type: 'PROBED', outcome, now: clock.now() };
    } catch (error) {
      if (!signal.aborted) return this.#unexpected(error);
    }
    return { type: 'AT_REST', ...this.#seen() };
  }

  #unexpected(error: unknown): ProbeEvent {
    const { clock, logger } = this.#deps;
    logger.warn({ ...this.#fields(), err: error }, `A probe could not be run: ${errorMessage(error)}`);
    return { type: 'PROBED', outcome: 'Error', now: clock.now() };
  }

  #send(event: ProbeEvent): void {
    if (this.#actor.getSnapshot().status === 'active') this.#actor.send(event);
  }

  #seen(): { seen: Sighting | undefined; now: number } {
    const { pod, container } = this.#target;
    const { podStatus, knownContainer, clock } = this.#deps;
    const { uid } = pod.metadata;
    const known = (id: string) => knownContainer?.(uid, id);
    return { seen: sightingOf(podStatus(uid), container.name, known), now: clock.now() };
  }

  #failed(error: unknown): void {
    this.disarmTimer();
    this.abortProbe();
    const message = `A probe's actor failed, and does not run any more: ${errorMessage(error)}`;
    this.#deps.logger.error({ ...this.#fields(), err: error }, message);
  }

  #fields(): object {
    const { pod, container, kind } = this.#target;
    return { ...podFields(pod.metadata), container: container.name, probe: kind };
  }
}

/** The probe machine with its effects, which are those of the worker that `workerOf` names. */
export function provideProbeMachine(
  workerOf: (actor: AnyActorRef) => ProbeWorker | undefined,
): typeof probeMachine {
  return probeMachine.provide({
    actions: {
      armTimer: ({ context, self }) => workerOf(self)?.armTimer(context.delayMs),
      disarmTimer: ({ self }) => workerOf(self)?.disarmTimer(),
      startProbe: ({ context, self }) => workerOf(self)?.startProbe(context),
      abortProbe: ({ self }) => workerOf(self)?.abortProbe(),
      reportResult: ({ context, self }) => workerOf(self)?.reportResult(context),
    },
  });
}

function measured({ pod: { metadata }, container, kind }: ProbeTarget): ProbedContainer {
  const { name, namespace, uid } = metadata;
  return { namespace, pod: name, podUID: uid, container: container.name, probe: kind };
}

/** The id in the inspector. No pod actor has such an id. */
function actorId({ pod, container, kind }: ProbeTarget): string {
  return `${fullName(pod.metadata)} ${container.name} ${kind} ${pod.metadata.uid}`;
}
