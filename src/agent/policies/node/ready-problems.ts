/** Why a node is not ready, in the kubelet's words. */
import { NODE_SHUTTING_DOWN } from '../termination/shutdown-periods.ts';
import type { RuntimeCondition, RuntimeStatus } from '../../../types/cri.ts';

/** A runtime that has not been ready for this long is down (the kubelet's value). */
const RUNTIME_DOWN_MS = 30_000;

/** The last known state of the container runtime. */
export interface RuntimeHealth {
  /** Its last answer; undefined before the first one. */
  readonly status: RuntimeStatus | undefined;
  /** When it last said that it is ready, in Unix milliseconds; undefined before it has. */
  readonly readyAt: number | undefined;
}

export interface NodeHealth {
  readonly runtime: RuntimeHealth;
  /** Why the state of the pods may not be known, if so. */
  readonly plegProblem: string | undefined;
  readonly isShuttingDown: boolean;
}

/** In the order in which the Ready condition lists them. */
export function readyProblems(health: NodeHealth, nowMs: number): readonly string[] {
  const { runtime, plegProblem, isShuttingDown } = health;
  const conditions = runtime.status?.conditions ?? [];
  return [
    ...silenceProblems(runtime, nowMs),
    ...(plegProblem === undefined ? [] : [`PLEG is not healthy: ${plegProblem}`]),
    ...conditionProblems('container runtime not ready', conditions, 'RuntimeReady'),
    ...conditionProblems('container runtime network not ready', conditions, 'NetworkReady'),
    ...(isShuttingDown ? [NODE_SHUTTING_DOWN] : []),
  ];
}

function silenceProblems({ readyAt }: RuntimeHealth, nowMs: number): readonly string[] {
  if (readyAt === undefined) return ['container runtime status check may not have completed yet'];
  return nowMs - readyAt >= RUNTIME_DOWN_MS ? ['container runtime is down'] : [];
}

function conditionProblems(
  problem: string,
  conditions: readonly RuntimeCondition[],
  wanted: RuntimeCondition['type'],
): readonly string[] {
  return conditions
    .filter(({ type, status }) => type === wanted && !status)
    .map(({ type, reason, message }) => `${problem}: ${type}=false reason:${reason} message:${message}`);
}
