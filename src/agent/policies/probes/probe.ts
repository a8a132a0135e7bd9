/**
 * What a probe's worker decides: whether the container can be probed, and what an outcome changes. Each probe of a container
 * has one worker. The rules are those of the kubelet's workers.
 */
import type { Container, Pod } from '../../../types/kubernetes.ts';
import type { KnownContainer } from '../../../types/runtime-pod.ts';
import { isTerminalPhase } from '../termination/pod-termination.ts';
import { containerShouldRestart, isRestartableInitContainer } from '../pod-actions/restart.ts';

export type ProbeKind = 'liveness' | 'readiness' | 'startup';

/** `Error`: the probe could not be carried out. This tells nothing about the container. */
export type ProbeOutcome = 'Success' | 'Failure' | 'Error';

/** UNKNOWN: the container is being probed, but no threshold has been reached yet. */
export type ProbeResult = 'Success' | 'Failure' | 'UNKNOWN';

export type Probe = NonNullable<Container['livenessProbe']>;

export interface ProbeTarget {
  readonly kind: ProbeKind;
  readonly pod: Pod;
  readonly container: Container;
}

/** The container's newest instance, as the pod's status shows it. */
export type SeenContainer = {
  /** The runtime's id of the instance. */
  readonly id: string;
  readonly started: boolean;
  /** What an earlier agent has remembered of the instance. */
  readonly known?: KnownContainer;
} & (
  | { readonly state: 'running'; /** Unix ms. */ readonly startedAt: number }
  | { readonly state: 'waiting' }
  | { readonly state: 'terminated'; readonly exitCode: number }
);

/** The part of the pod's status that a worker sees. */
export interface Sighting {
  readonly phase: string | undefined;
  /** Undefined while the container has not been created. */
  readonly container: SeenContainer | undefined;
}

/** The state of a worker. */
export interface ProbeRecord {
  readonly containerId: string | undefined;
  /** The result for that container; undefined while no outcome has reached its threshold. */
  readonly result: ProbeResult | undefined;
  readonly lastOutcome: 'Success' | 'Failure' | undefined;
  /** How many times in a row the outcome was `lastOutcome`. A new instance of the container does not reset it. */
  readonly resultRun: number;
  /** The result is kept, and the container not probed, until there is a new instance. */
  readonly onHold: boolean;
}

export type ProbeStep =
  /** Do not probe until the status changes. */
  | { readonly kind: 'idle' }
  /** Do not probe any more. */
  | { readonly kind: 'over' }
  /** Probe at `notBefore` or later. Unix ms. */
  | { readonly kind: 'probe'; readonly startedAt: number; readonly notBefore: number };

export interface ProbeDecision {
  readonly record: ProbeRecord;
  readonly step: ProbeStep;
}

export const NEW_PROBE_RECORD: ProbeRecord = {
  containerId: undefined,
  result: undefined,
  lastOutcome: undefined,
  resultRun: 0,
  onHold: false,
};

/** The result of a container before its first outcome. */
const INITIAL_RESULT: Readonly<Record<ProbeKind, ProbeResult>> = {
  liveness: 'Success',
  readiness: 'Failure',
  startup: 'UNKNOWN',
};
const DEFAULT_PERIOD_SECONDS = 10;
/**
 * A container that ran for longer than this when the agent started was probed by an earlier agent: no result is assumed for
 * it.
 */
const ADOPTED_AFTER_MS = 10_000;

const idle = (record: ProbeRecord): ProbeDecision => ({ record, step: { kind: 'idle' } });
const over = (record: ProbeRecord): ProbeDecision => ({ record, step: { kind: 'over' } });

const KINDS: readonly ProbeKind[] = ['startup', 'readiness', 'liveness'];

/** The probes of a pod. Of its init containers, only sidecars have probes. */
export function probeTargets(pod: Pod): readonly ProbeTarget[] {
  const { containers, initContainers = [] } = pod.spec;
  return [...containers, ...initContainers.filter(isRestartableInitContainer)].flatMap((container) =>
    KINDS.filter((kind) => container[`${kind}Probe`] != null).map((kind) => ({ kind, pod, container })),
  );
}

/** The probe of the worker. */
export function probeOf({ container, kind }: ProbeTarget): Probe {
  return container[`${kind}Probe`] ?? {};
}

export function periodMs({ periodSeconds = 0 }: Probe): number {
  return (periodSeconds > 0 ? periodSeconds : DEFAULT_PERIOD_SECONDS) * 1000;
}

/** What the worker does at the pod's present status. `seen`: undefined without a status. `agentStartedAt`: Unix ms. */
export function decideProbe(
  target: ProbeTarget,
  record: ProbeRecord,
  seen: Sighting | undefined,
  agentStartedAt: number,
): ProbeDecision {
  if (seen === undefined) return idle(record);
  if (isTerminalPhase(seen.phase)) return over(record);
  const { container } = seen;
  if (container === undefined) return idle(record);
  const isKnown = record.containerId === container.id;
  const current = isKnown ? record : withContainer(target, record, container, agentStartedAt);
  if (current.onHold) return idle(current);
  return container.state === 'running'
    ? decideForRunning(target, current, container)
    : decideForStopped(target, current, container);
}

function withContainer(
  { kind }: ProbeTarget,
  record: ProbeRecord,
  container: SeenContainer,
  agentStartedAt: number,
): ProbeRecord {
  const { started, ready } = container.known ?? {};
  const wasGood = { startup: started, readiness: ready, liveness: false }[kind] === true;
  const isAdopted = container.state === 'running' && container.startedAt < agentStartedAt - ADOPTED_AFTER_MS;
  const initial = isAdopted ? undefined : INITIAL_RESULT[kind];
  const result = wasGood ? 'Success' : initial;
  return { ...record, containerId: container.id, result, onHold: false };
}

/**
 * Whether a container that ran before the agent started must have started up, since its startup probe would have failed by
 * then otherwise. It must not be killed because a probe that succeeds only once fails now. The kubelet learns from the API
 * server that a container has started; this agent has none.
 */
export function startedBefore(
  target: ProbeTarget,
  container: SeenContainer | undefined,
  agentStartedAt: number,
): boolean {
  if (target.kind !== 'startup' || container?.state !== 'running') return false;
  const probe = probeOf(target);
  const { initialDelaySeconds = 0, failureThreshold = 0 } = probe;
  const limitMs = initialDelaySeconds * 1000 + (failureThreshold + 1) * periodMs(probe);
  return container.startedAt + limitMs < agentStartedAt;
}

function decideForStopped(target: ProbeTarget, record: ProbeRecord, container: SeenContainer): ProbeDecision {
  const failed: ProbeRecord = { ...record, result: 'Failure' };
  if (container.state !== 'terminated') return idle(failed);
  return containerShouldRestart(target.pod, target.container, container.exitCode)
    ? idle(failed)
    : over(failed);
}

/** Until the container has started, only its startup probe runs; after that, only its other probes. */
function decideForRunning(
  target: ProbeTarget,
  record: ProbeRecord,
  { started, startedAt }: SeenContainer & { readonly startedAt: number },
): ProbeDecision {
  const isStartup = target.kind === 'startup';
  const isBeingDeleted = target.pod.metadata.deletionTimestamp != null;
  if (isBeingDeleted && target.kind !== 'readiness') return over(quietRecord(target, record));
  if (started === isStartup) return idle(record);
  const notBefore = startedAt + (probeOf(target).initialDelaySeconds ?? 0) * 1000;
  return { record, step: { kind: 'probe', startedAt, notBefore } };
}

/** A liveness or startup probe that is not run any more counts as succeeded: its last result must not kill the container. */
export function quietRecord({ kind }: ProbeTarget, record: ProbeRecord): ProbeRecord {
  return kind === 'readiness' ? record : { ...record, result: 'Success' };
}

/** The state after an outcome. An outcome becomes the result when it has come as often in a row as its threshold says. */
export function judge(target: ProbeTarget, record: ProbeRecord, outcome: ProbeOutcome): ProbeRecord {
  if (outcome === 'Error') return record;
  const { successThreshold = 0, failureThreshold = 0 } = probeOf(target);
  const resultRun = record.lastOutcome === outcome ? record.resultRun + 1 : 1;
  const counted: ProbeRecord = { ...record, lastOutcome: outcome, resultRun };
  if (resultRun < (outcome === 'Success' ? successThreshold : failureThreshold)) return counted;
  const decided: ProbeRecord = { ...counted, result: outcome };
  return isFinal(target, outcome) ? { ...decided, onHold: true, resultRun: 0 } : decided;
}

/** A container whose liveness or startup probe has failed is killed, and one that has started stays started. */
function isFinal({ kind }: ProbeTarget, outcome: 'Success' | 'Failure'): boolean {
  return kind === 'startup' || (kind === 'liveness' && outcome === 'Failure');
}
