/**
 * What a probe's worker decides: whether the container that it sees can be probed, and what an outcome changes. One worker
 * per probe of a container; the rules are those of the kubelet's.
 */
import type { Container, Pod } from '../../types/kubernetes.ts';
import type { ProbeResult } from '../sync/pod-facts.ts';
import { isTerminalPhase } from '../sync/pod-termination.ts';
import { containerShouldRestart, isRestartableInitContainer } from '../sync/restart.ts';

export type ProbeKind = 'liveness' | 'readiness' | 'startup';

/** `Error`: the probe itself could not be carried out, which says nothing about the container. */
export type ProbeOutcome = 'Success' | 'Failure' | 'Error';

export type Probe = NonNullable<Container['livenessProbe']>;

export interface ProbeTarget {
  readonly kind: ProbeKind;
  readonly pod: Pod;
  readonly container: Container;
}

/** The container's newest instance, as the pod's status shows it. */
export type SeenContainer = {
  /** As the runtime knows it. */
  readonly id: string;
  readonly started: boolean;
} & (
  | { readonly state: 'running'; /** Unix ms. */ readonly startedAt: number }
  | { readonly state: 'waiting' }
  | { readonly state: 'terminated'; readonly exitCode: number }
);

/** What the pod's status says; undefined while there is none. */
export interface Sighting {
  readonly phase: string | undefined;
  /** undefined while it has not been created. */
  readonly container: SeenContainer | undefined;
}

/** What a worker remembers. */
export interface ProbeRecord {
  readonly containerId: string | undefined;
  /** The decisive result for that container; undefined while there is none. */
  readonly result: ProbeResult | undefined;
  readonly lastOutcome: 'Success' | 'Failure' | undefined;
  /** How many times in a row the outcome was that. Goes on counting when another instance of the container comes. */
  readonly resultRun: number;
  /** The result stands until another instance comes. */
  readonly onHold: boolean;
}

export type ProbeStep =
  /** Nothing to probe until the status changes. */
  | { readonly kind: 'idle' }
  /** Nor after that, as far as can be seen. */
  | { readonly kind: 'over' }
  /** Unix ms. */
  | { readonly kind: 'probe'; readonly startedAt: number; readonly notBefore: number };

export interface Look {
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

/** What holds of a container before its first outcome. */
const INITIAL_RESULT: Readonly<Record<ProbeKind, ProbeResult>> = {
  liveness: 'Success',
  readiness: 'Failure',
  startup: 'UNKNOWN',
};
const DEFAULT_PERIOD_SECONDS = 10;
/** What ran for longer than this when the agent started was looked after by one before: nothing is assumed about it. */
const ADOPTED_AFTER_MS = 10_000;

const idle = (record: ProbeRecord): Look => ({ record, step: { kind: 'idle' } });
const over = (record: ProbeRecord): Look => ({ record, step: { kind: 'over' } });

const KINDS: readonly ProbeKind[] = ['startup', 'readiness', 'liveness'];

/** The probes of a pod. Of its init containers only sidecars have any. */
export function probeTargets(pod: Pod): readonly ProbeTarget[] {
  const { containers, initContainers = [] } = pod.spec;
  return [...containers, ...initContainers.filter(isRestartableInitContainer)].flatMap((container) =>
    KINDS.filter((kind) => container[`${kind}Probe`] != null).map((kind) => ({ kind, pod, container })),
  );
}

/** The probe that the worker is there for. */
export function probeOf({ container, kind }: ProbeTarget): Probe {
  return container[`${kind}Probe`] ?? {};
}

export function periodMs({ periodSeconds = 0 }: Probe): number {
  return (periodSeconds > 0 ? periodSeconds : DEFAULT_PERIOD_SECONDS) * 1000;
}

/** What the worker makes of the pod's present status. `agentStartedAt`: Unix ms. */
export function lookAt(
  target: ProbeTarget,
  record: ProbeRecord,
  seen: Sighting | undefined,
  agentStartedAt: number,
): Look {
  if (seen === undefined) return idle(record);
  if (isTerminalPhase(seen.phase)) return over(record);
  const { container } = seen;
  if (container === undefined) return idle(record);
  const isKnown = record.containerId === container.id;
  const current = isKnown ? record : withContainer(target, record, container, agentStartedAt);
  if (current.onHold) return idle(current);
  return container.state === 'running'
    ? lookAtRunning(target, current, container)
    : lookAtStopped(target, current, container);
}

function withContainer(
  { kind }: ProbeTarget,
  record: ProbeRecord,
  container: SeenContainer,
  agentStartedAt: number,
): ProbeRecord {
  const isAdopted = container.state === 'running' && container.startedAt < agentStartedAt - ADOPTED_AFTER_MS;
  const result = isAdopted ? undefined : INITIAL_RESULT[kind];
  return { ...record, containerId: container.id, result, onHold: false };
}

/**
 * Whether a container that an agent finds running has been running for longer than it could without having started up: a
 * probe that may only succeed once must not be the end of it. The kubelet is told by the API server instead.
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

function lookAtStopped(target: ProbeTarget, record: ProbeRecord, container: SeenContainer): Look {
  const failed: ProbeRecord = { ...record, result: 'Failure' };
  if (container.state !== 'terminated') return idle(failed);
  return containerShouldRestart(target.pod, target.container, container.exitCode)
    ? idle(failed)
    : over(failed);
}

/** Until the container has started only its startup probe runs, and from then on only the others do. */
function lookAtRunning(
  target: ProbeTarget,
  record: ProbeRecord,
  { started, startedAt }: SeenContainer & { readonly startedAt: number },
): Look {
  const isStartup = target.kind === 'startup';
  const isBeingDeleted = target.pod.metadata.deletionTimestamp != null;
  if (isBeingDeleted && target.kind !== 'readiness') return over(quietRecord(target, record));
  if (started === isStartup) return idle(record);
  const notBefore = startedAt + (probeOf(target).initialDelaySeconds ?? 0) * 1000;
  return { record, step: { kind: 'probe', startedAt, notBefore } };
}

/** A container that is meant to end must not be killed, or held for unready, by a probe that is not run any more. */
export function quietRecord({ kind }: ProbeTarget, record: ProbeRecord): ProbeRecord {
  return kind === 'readiness' ? record : { ...record, result: 'Success' };
}

/** An outcome decides once it has come as often in a row as its threshold says. */
export function judge(target: ProbeTarget, record: ProbeRecord, outcome: ProbeOutcome): ProbeRecord {
  if (outcome === 'Error') return record;
  const { successThreshold = 0, failureThreshold = 0 } = probeOf(target);
  const resultRun = record.lastOutcome === outcome ? record.resultRun + 1 : 1;
  const counted: ProbeRecord = { ...record, lastOutcome: outcome, resultRun };
  if (resultRun < (outcome === 'Success' ? successThreshold : failureThreshold)) return counted;
  const decided: ProbeRecord = { ...counted, result: outcome };
  return isFinal(target, outcome) ? { ...decided, onHold: true, resultRun: 0 } : decided;
}

/** What failed is going to be killed, and what has started stays started. */
function isFinal({ kind }: ProbeTarget, outcome: 'Success' | 'Failure'): boolean {
  return kind === 'startup' || (kind === 'liveness' && outcome === 'Failure');
}
