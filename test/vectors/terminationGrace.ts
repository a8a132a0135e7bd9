import {
  containerGracePeriodSeconds,
  type ContainerKillReason,
  stopTimeoutSeconds,
  terminationPrerequisites,
} from '../../src/agent/policies/termination/pod-termination.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import type { VectorAdapter } from '../support/vectors.ts';

interface GracePeriodInput {
  readonly fn: 'gracePeriod';
  readonly pod: Pod;
  readonly container: string;
  readonly reason: ContainerKillReason;
  readonly gracePeriodOverride: number | null;
}

interface OrderingInput {
  readonly fn: 'ordering';
  readonly pod: Pod;
  readonly running: readonly string[];
}

export const adapter: VectorAdapter = {
  adapt(input: GracePeriodInput | OrderingInput) {
    return input.fn === 'gracePeriod' ? gracePeriod(input) : ordering(input);
  },
};

function gracePeriod({ pod, container: name, reason, gracePeriodOverride }: GracePeriodInput): unknown {
  const container = pod.spec.containers.find((candidate) => candidate.name === name);
  if (!container) throw new Error(`no container ${name} in the pod`);
  const base = containerGracePeriodSeconds(pod, container, reason);
  const overrideSeconds = gracePeriodOverride ?? undefined;
  return { base, stop: stopTimeoutSeconds({ gracePeriodSeconds: base, overrideSeconds }) };
}

function ordering({ pod, running }: OrderingInput): unknown {
  const { regular, nextOf } = terminationPrerequisites(pod, new Set(running));
  const awaited = (next: string | undefined) =>
    [...regular, ...(next === undefined ? [] : [next])].toSorted();
  const prereqs = Array.from(nextOf, ([sidecar, next]) => [sidecar, awaited(next)] as const);
  return { prereqs: Object.fromEntries(prereqs) };
}
