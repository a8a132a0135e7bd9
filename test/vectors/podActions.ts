import { computePodActions, type PodActions } from '../../src/agent/policies/pod-actions/pod-actions.ts';
import { without } from '../../src/agent/policies/formats/canonical-json.ts';
import type { ProbeResult } from '../../src/agent/policies/probes/probe.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import {
  type PartialContainer,
  type PartialSandbox,
  runtimePodStatus,
} from '../support/runtime-pod-status.ts';
import type { VectorAdapter } from '../support/vectors.ts';

type Results = Readonly<Record<string, ProbeResult>>;

interface PodActionsInput {
  readonly pod: Pod;
  readonly podStatus: {
    readonly sandboxes: readonly PartialSandbox[];
    readonly containers: readonly (PartialContainer & { readonly specChanged: boolean })[];
  };
  readonly liveness: Results;
  readonly startup: Results;
  readonly restartAllContainers: boolean;
}

export const adapter: VectorAdapter = {
  adapt({ pod, podStatus, liveness, startup, restartAllContainers }: PodActionsInput) {
    const changed = new Set(podStatus.containers.filter((one) => one.specChanged).map(({ id }) => id));
    const actions = computePodActions({
      pod,
      podStatus: runtimePodStatus(podStatus),
      liveness: new Map(Object.entries(liveness)),
      startup: new Map(Object.entries(startup)),
      restartAllContainers,
      specChanged: (_container, { id }) => changed.has(id),
    });
    return inVectorForm(actions);
  },
};

/** Without resizes, which have vectors of their own. */
function inVectorForm(actions: PodActions): unknown {
  const { sandboxId, containersToKill, containersToReset, ...others } = actions;
  const same = without(others, ['resize']);
  return {
    ...same,
    sandboxID: sandboxId,
    containersToKill: containersToKill
      .map(({ id, name, reason, message }) => ({ id, name, reason, message }))
      .toSorted((one, other) => (one.id < other.id ? -1 : 1)),
    containersToReset: containersToReset.map(({ id, name, kill }) => ({ id, name, kill })),
  };
}
