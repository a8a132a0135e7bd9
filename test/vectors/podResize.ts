import {
  allocationFromPod,
  increasesRequests,
  isAllocated,
  podAsAllocated,
  withoutEmpty,
} from '../../src/agent/policies/resize/allocation.ts';
import { sortPendingResizes } from '../../src/agent/policies/resize/pending-resizes.ts';
import {
  computeResizeActions,
  type ContainerUpdate,
  isResizeInProgress,
} from '../../src/agent/policies/resize/resize-actions.ts';
import {
  listedConditions,
  type ResizeConditions,
  withoutInProgress,
} from '../../src/agent/policies/resize/resize-conditions.ts';
import { decideResize } from '../../src/agent/policies/resize/resize-decision.ts';
import { rfc3339 } from '../../src/agent/policies/formats/time.ts';
import { servedPodStatus } from '../../src/agent/policies/cluster/served-pod-status.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import type { PodAllocation, RuntimeContainerStatus, RuntimePodStatus } from '../../src/types/runtime-pod.ts';
import type { VectorAdapter } from '../support/vectors.ts';

interface Runtime {
  readonly pod: Pod;
  readonly containerStates: Readonly<Record<string, RuntimeContainerStatus['state']>>;
  readonly actuated: PodAllocation;
}

interface Step {
  readonly pod: Pod;
  readonly fits: boolean;
  readonly reason?: string;
  readonly message?: string;
  readonly resizeDone?: boolean;
}

const START_MS = Date.parse('2030-01-01T00:00:00Z');

/** By `fn`. */
const POLICIES = {
  isPodResizeInProgress: ({ pod, containerStates, actuated }: Runtime) => ({
    inProgress: isResizeInProgress(pod, statusOf(containerStates), actuated),
  }),
  computePodResizeAction({ pod, containerStates, actuated }: Runtime) {
    const { updates, restarts } = computeResizeActions(pod, statusOf(containerStates), actuated);
    const indexOf = (isInit: boolean) => {
      const list = (isInit ? pod.spec.initContainers : pod.spec.containers) ?? [];
      return restarts
        .filter((restart) => restart.isInit === isInit)
        .map(({ container }) => list.findIndex(({ name }) => name === container.name));
    };
    const looked = Object.keys(containerStates).filter((name) => isResizable(pod, name));
    return {
      containersToUpdate: Object.fromEntries(
        Object.entries(updates)
          .filter(([, list]) => list.length > 0)
          .map(([resource, list]) => [resource, list.map(update)]),
      ),
      containersToKill: Object.fromEntries(
        restarts.map(({ container }) => [
          container.name,
          `Container ${container.name} resize requires restart`,
        ]),
      ),
      containersToStart: indexOf(false),
      initContainersToStart: indexOf(true),
      updatePodResources: restarts.length > 0,
      keep: Object.fromEntries(
        looked.map((name) => [name, !restarts.some(({ container }) => container.name === name)]),
      ),
    };
  },
  updatePodFromAllocation({
    pod,
    allocated,
  }: {
    readonly pod: Pod;
    readonly allocated: Partial<PodAllocation>;
  }) {
    const allocation = { ...allocated, containers: allocated.containers ?? {} };
    return { updated: !isAllocated(pod, allocation), spec: served(podAsAllocated(pod, allocation)) };
  },
  allocationFromPod: ({ pod }: { readonly pod: Pod }) => ({ allocated: allocationFromPod(pod) }),
  sortPendingResizes({
    allocatedPods,
    pods,
    pending,
  }: {
    readonly allocatedPods: readonly Pod[];
    readonly pods: readonly Pod[];
    readonly pending: readonly { readonly uid: string; readonly setCondition: boolean }[];
  }) {
    const byUID = (list: readonly Pod[], uid: string) => list.find(({ metadata }) => metadata.uid === uid);
    const known = pending.flatMap(({ uid, setCondition }, index) => {
      const [desired, allocated] = [byUID(pods, uid), byUID(allocatedPods, uid)];
      const since = setCondition ? rfc3339(START_MS + 1000 * index) : undefined;
      return desired && allocated ? [{ desired, allocated, since }] : [];
    });
    return {
      order: sortPendingResizes(known).map(({ desired }) => desired.metadata.uid),
      increasing: Object.fromEntries(
        known.map(({ desired, allocated }) => [desired.metadata.uid, increasesRequests(desired, allocated)]),
      ),
    };
  },
  resize({ pod, steps }: { readonly pod: Pod; readonly steps: readonly Step[] }) {
    let allocation = allocationFromPod(pod);
    let conditions: ResizeConditions = {};
    return {
      steps: steps.map(({ pod: desired, fits, reason = '', message = '', resizeDone }, index) => {
        if (resizeDone) conditions = withoutInProgress(conditions);
        const refuse = () => (fits ? undefined : { reason, message });
        const now = rfc3339(START_MS + 10_000 * (index + 1));
        const decision = decideResize(desired, { allocation, conditions }, refuse, now);
        ({ allocation, conditions } = decision);
        return {
          resized: decision.resized,
          error: null,
          allocated: allocation,
          conditions: servedPodStatus({ conditions: listedConditions(conditions) }).conditions ?? [],
          events: decision.events.map((event) => `${event.type} ${event.reason} ${event.message}`),
        };
      }),
    };
  },
};

export const adapter: VectorAdapter = {
  adapt(input: { readonly fn: keyof typeof POLICIES }) {
    return POLICIES[input.fn](input as never);
  },
};

function update({ container, current, desired }: ContainerUpdate) {
  return { container: container.name, current, desired };
}

/** Without empty lists, as the API server writes it. */
function served({ spec }: Pod): unknown {
  const tidy = (list: Pod['spec']['containers'] | undefined) =>
    list?.map((container) => ({ ...container, resources: withoutEmpty(container.resources) }));
  const { resources, initContainers, containers } = spec;
  return {
    ...spec,
    resources: resources && withoutEmpty(resources),
    initContainers: tidy(initContainers),
    containers: tidy(containers),
  };
}

function isResizable({ spec }: Pod, name: string): boolean {
  const init = spec.initContainers?.find((container) => container.name === name);
  return init === undefined || init.restartPolicy === 'Always';
}

function statusOf(states: Runtime['containerStates']): RuntimePodStatus {
  const containers = Object.entries(states).map(
    ([name, state]) => ({ id: name, name, state, createdAt: 0 }) as RuntimeContainerStatus,
  );
  return { uid: 'u1', name: 'p', namespace: 'ns', sandboxes: [], containers, observedAt: 0 };
}
