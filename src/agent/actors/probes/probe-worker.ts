/** The effects of a probe actor: its timer, its runs, and what it sends to the supervisor. */
import type { ActorRefFrom, AnyActorRef } from 'xstate';
import { type ProbeContext, type ProbeEvent, probeMachine } from '../../machines/probe-machine.ts';
import type { SupervisorEvent } from '../../machines/supervisor-machine.ts';
import { fullName } from '../../policies/pod/pod-kinds.ts';
import { beatFrom } from '../../policies/probes/probe-schedule.ts';
import {
  type ProbeKind,
  probeOf,
  type ProbeRecord,
  type ProbeResult,
  type ProbeTarget,
  type SeenContainer,
  type Sighting,
  startedBefore,
} from '../../policies/probes/probe.ts';
import type { PodNode } from '../../runtime/node/pod-node.ts';
import type { Pleg } from '../../runtime/pleg/pleg.ts';
import { probeContainer } from '../../runtime/probes/prober.ts';
import type { RuntimeService } from '../../runtime/service/runtime-service.ts';
import { Timer } from '../../../system/timer.ts';
import { MAX_TIMER_MS } from '../../../types/clock.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { ContainerStatus, PodStatus } from '../../../types/kubernetes.ts';
import { podFields } from '../../../types/logger.ts';
import type { ProbedContainer } from '../../../types/measurements.ts';
import type { KnownContainer } from '../../../types/runtime-pod.ts';
import type { ActorContext } from '../actor-context.ts';
import { createActor } from '../agent-actor.ts';
import type { StatusManager } from '../pods/status-manager.ts';

/** A probe has another result than before. */
export type ProbeNews = SupervisorEvent & { readonly type: 'PROBE' } & {
  /** Of the runtime. */
  readonly containerId: string;
};

export interface ProbeParts {
  readonly runtime: RuntimeService;
  /** Knows what an earlier agent has stored about an instance of a container. */
  readonly node: Pick<PodNode, 'podIP' | 'knownContainer'>;
  readonly pleg: Pick<Pleg, 'lastSeen'>;
  readonly statusManager: Pick<StatusManager, 'get'>;
}

export interface ProbeWorkerParts extends ProbeParts {
  readonly machine: typeof probeMachine;
  /** Unix ms. */
  readonly agentStartedAt: number;
  readonly tell: (news: ProbeNews) => void;
}

type ProbeActor = ActorRefFrom<typeof probeMachine>;

/** One probe of one container: at most one run in flight, and a timer only while the next one is waited for. */
export class ProbeWorker {
  readonly #context: ActorContext;
  readonly #parts: ProbeWorkerParts;
  readonly #target: ProbeTarget;
  readonly #actor: ProbeActor;
  readonly #timer: Timer;
  #run: AbortController | undefined;

  constructor(context: ActorContext, target: ProbeTarget, parts: ProbeWorkerParts) {
    const { clock, random, parent, inspect } = context;
    const { machine, agentStartedAt } = parts;
    this.#context = context;
    this.#parts = parts;
    this.#timer = new Timer(clock);
    this.#target = target;
    const beat = beatFrom(clock.now(), agentStartedAt, probeOf(target), random());
    this.#actor = createActor(machine, { id: actorId(target), parent, inspect, input: { target, beat } });
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
    return startedBefore(this.#target, container, this.#parts.agentStartedAt);
  }

  start(): void {
    this.#actor.start();
    this.look();
  }

  /** The pod's status may have changed. */
  look(): void {
    this.#send({ type: 'STATUS', ...this.#seen() });
  }

  /** No probe runs and no timer is armed any more; the record stays. */
  stop(): void {
    this.#send({ type: 'STOP' });
    this.#context.measurements?.probeRemoved(measured(this.#target));
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

  /** Later, since the supervisor reads the record, which is the old one until the transition is over. */
  reportResult({ record: { result, containerId = '' } }: ProbeContext): void {
    if (result !== 'Success' && result !== 'Failure') return;
    const { pod, kind } = this.#target;
    const { uid } = pod.metadata;
    queueMicrotask(() => this.#parts.tell({ type: 'PROBE', uid, probe: kind, result, containerId }));
  }

  async #probe(containerId: string, signal: AbortSignal): Promise<void> {
    const event = await this.#outcome(containerId, signal);
    this.#run = undefined;
    this.#send(event);
  }

  async #outcome(containerId: string, signal: AbortSignal): Promise<ProbeEvent> {
    const target = this.#target;
    const end = this.#context.measurements?.probe(measured(target));
    try {
      const run = { runtime: this.#parts.runtime, target, containerId, podIP: this.#podIP() };
      const outcome = await probeContainer(this.#context, run, signal);
      // A probe that was stopped has no metrics any more.
      if (!signal.aborted) end?.(outcome === 'Error' ? undefined : outcome);
      if (!signal.aborted) return { type: 'PROBED', outcome, now: this.#context.clock.now() };
    } catch (error) {
      if (!signal.aborted) return this.#unexpected(error);
    }
    return { type: 'AT_REST', ...this.#seen() };
  }

  #unexpected(error: unknown): ProbeEvent {
    const { clock, logger } = this.#context;
    logger.warn({ ...this.#fields(), err: error }, `A probe could not be run: ${errorMessage(error)}`);
    return { type: 'PROBED', outcome: 'Error', now: clock.now() };
  }

  #send(event: ProbeEvent): void {
    if (this.#actor.getSnapshot().status === 'active') this.#actor.send(event);
  }

  #seen(): { seen: Sighting | undefined; now: number } {
    const { pod, container } = this.#target;
    const { statusManager, node } = this.#parts;
    const { uid } = pod.metadata;
    const known = (id: string) => node.knownContainer(uid, id);
    const seen = sightingOf(statusManager.get(uid), container.name, known);
    return { seen, now: this.#context.clock.now() };
  }

  #podIP(): string | undefined {
    const { pod } = this.#target;
    const { pleg, node } = this.#parts;
    const seen = pleg.lastSeen(pod.metadata.uid);
    return seen && node.podIP(pod, seen);
  }

  #failed(error: unknown): void {
    this.disarmTimer();
    this.abortProbe();
    const message = `A probe's actor failed, and does not run any more: ${errorMessage(error)}`;
    this.#context.logger.error({ ...this.#fields(), err: error }, message);
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

function sightingOf(
  status: PodStatus | undefined,
  containerName: string,
  knownContainer: (containerId: string) => KnownContainer | undefined = () => undefined,
): Sighting | undefined {
  if (status === undefined) return undefined;
  const { phase, containerStatuses = [], initContainerStatuses = [] } = status;
  const container = [...containerStatuses, ...initContainerStatuses].find(
    ({ name, containerID }) => name === containerName && containerID,
  );
  if (container === undefined) return { phase, container };
  const seen = seenContainer(container);
  const known = knownContainer(seen.id);
  return { phase, container: known ? { ...seen, known } : seen };
}

function seenContainer({ containerID = '', started = false, state }: ContainerStatus): SeenContainer {
  const common = { id: containerID.replace(/^[^:]*:\/\//u, ''), started };
  if (state?.running) {
    return { ...common, state: 'running', startedAt: Date.parse(state.running.startedAt ?? '') || 0 };
  }
  if (state?.terminated) return { ...common, state: 'terminated', exitCode: state.terminated.exitCode };
  return { ...common, state: 'waiting' };
}
