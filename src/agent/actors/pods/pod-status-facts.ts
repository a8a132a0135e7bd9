import { isStaticPod } from '../../policies/pod/pod-kinds.ts';
import { startsNoMore } from '../../policies/pod-actions/pod-actions.ts';
import { rfc3339 } from '../../policies/formats/time.ts';
import { containerID } from '../../policies/status/container-state.ts';
import { generateAPIPodStatus, type PodStatusFacts } from '../../policies/status/pod-status.ts';
import { resultBeforeRestart } from '../../policies/status/remembered-containers.ts';
import {
  DEADLINE_EXCEEDED,
  hasExceededDeadline,
  isPastDeadline,
  isTerminalPhase,
} from '../../policies/termination/pod-termination.ts';
import type { PodContext } from '../../machines/pod-machine.ts';
import type { DeviceManager } from '../../runtime/devices/device-manager.ts';
import type { DraNode } from '../../runtime/dra/dra-node.ts';
import type { PodNode } from '../../runtime/node/pod-node.ts';
import type { PodRuntime } from '../../runtime/pods/pod-runtime.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { Pod, PodStatus } from '../../../types/kubernetes.ts';
import type { RuntimePodStatus } from '../../../types/runtime-pod.ts';
import type { RuntimeWatch } from '../node/runtime-watch.ts';
import type { ProbeManager } from '../probes/probe-manager.ts';
import type { ResizeStates } from '../resize/resize-states.ts';
import type { StatusManager } from './status-manager.ts';

export interface StatusParts {
  readonly statusManager: StatusManager;
  readonly probes: Pick<ProbeManager, 'results' | 'agentStartedAt'>;
  readonly node: Pick<PodNode, 'knownContainer'>;
  readonly podRuntime: Pick<PodRuntime, 'startFailures'>;
  readonly resizes: Pick<ResizeStates, 'conditionsOf'>;
  readonly runtime: Pick<RuntimeWatch, 'name'>;
  /** Undefined where pods can have no devices. */
  readonly devices: Pick<DeviceManager, 'statusOf'> | undefined;
  /** Undefined where pods can have no ResourceClaims. */
  readonly dra: Pick<DraNode, 'statusOf'> | undefined;
  /** Addresses of the node, the primary one first. */
  readonly hostIPs: () => readonly string[];
}

type Deps = StatusParts & Pick<AgentContext, 'clock' | 'recorder'>;

/** What the status of the pod is computed from. Records the event of a pod that has exceeded its deadline. */
export function statusFacts(
  deps: Deps,
  { uid, statusOverride }: PodContext,
  pod: Pod,
  podStatus: RuntimePodStatus,
): PodStatusFacts {
  const previous = previousStatus(deps, pod, podStatus);
  const results = deps.probes.results(uid);
  const { agentStartedAt } = deps.probes;
  const known = (id: string) => deps.node.knownContainer(uid, id);
  const before = { pod, podStatus, previous: previous ?? pod.status, agentStartedAt, known };
  const now = deps.clock.now();
  const facts: PodStatusFacts = {
    pod,
    podStatus,
    previous,
    podIsTerminal: false,
    startFailures: deps.podRuntime.startFailures(uid),
    override: statusOverride,
    resize: deps.resizes.conditionsOf(uid),
    devicesOf: (container) => {
      const all = [
        ...(deps.devices?.statusOf(uid, container) ?? []),
        ...(deps.dra?.statusOf(pod, container) ?? []),
      ];
      return all.length === 0 ? undefined : all;
    },
    probeResults: (probe, containerId) =>
      results[probe].get(containerId) ?? resultBeforeRestart(before, probe, containerId),
    runtimeName: deps.runtime.name,
    hostIPs: deps.hostIPs(),
    now: rfc3339(now),
  };
  if (statusOverride || !hasHadItsTime(facts, now)) return facts;
  // Recorded once: the pod has failed from now on.
  deps.recorder.event(pod.metadata, 'Normal', DEADLINE_EXCEEDED.reason, DEADLINE_EXCEEDED.message);
  return { ...facts, override: DEADLINE_EXCEEDED };
}

/**
 * The last reported status. For a static pod that starts no container any more it is that of its mirror pod, which shows how
 * containers ended that the runtime has lost. It does not count if it knows no container of this pod: then it is of an earlier
 * one.
 */
function previousStatus(
  { statusManager, runtime }: Deps,
  pod: Pod,
  podStatus: RuntimePodStatus,
): PodStatus | undefined {
  const { uid } = pod.metadata;
  const known = statusManager.get(uid);
  if (statusManager.entry(uid) || !isStaticPod(pod) || !startsNoMore(pod, podStatus)) return known;
  const served = statusManager.servedOf(pod);
  const ids = podStatus.containers.map(({ id }) => containerID(runtime.name, id));
  const isOfThisLife = served?.containerStatuses?.some(({ containerID: id = '' }) => ids.includes(id));
  return isOfThisLife ? { ...known, ...served } : known;
}

/** A pod that ended before its deadline has not exceeded it. */
function hasHadItsTime(facts: PodStatusFacts, nowMs: number): boolean {
  const { pod, podStatus } = facts;
  const status = facts.previous ?? pod.status;
  if (isTerminalPhase(status?.phase) || !isPastDeadline(pod, status, nowMs)) return false;
  return hasExceededDeadline(pod, generateAPIPodStatus(facts), podStatus);
}
