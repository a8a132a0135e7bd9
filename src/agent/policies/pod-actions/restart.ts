/** Whether a container that has ended is started again: by its restart rules, then its own policy, then the pod's policy. */
import type { Container, Pod, PodStatus } from '../../../types/kubernetes.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../types/runtime-pod.ts';
import { canonicalJson } from '../formats/canonical-json.ts';
import { named } from '../formats/lookups.ts';

type ContainerRestartRule = NonNullable<Container['restartPolicyRules']>[number];

/** The kubelet sets this condition while it carries out RestartAllContainers. */
const ALL_CONTAINERS_RESTARTING = 'AllContainersRestarting';
const RESTART_POLICIES: ReadonlySet<string | undefined> = new Set(['Always', 'OnFailure', 'Never']);

/** Whether this init container is a sidecar: started in its turn, then kept running beside the regular containers. */
export function isRestartableInitContainer(container: Container): boolean {
  return container.restartPolicy === 'Always';
}

/** The newest instance of the container, whatever its state. */
export function containerStatusByName(
  podStatus: RuntimePodStatus,
  name: string,
): RuntimeContainerStatus | undefined {
  return named(podStatus.containers, name);
}

/** The first restart rule of the container that applies to this exit code. */
export function matchingRestartRule(
  container: Container,
  exitCode: number,
): ContainerRestartRule | undefined {
  return container.restartPolicyRules?.find((rule) => ruleMatches(rule, exitCode));
}

function ruleMatches(rule: ContainerRestartRule, exitCode: number): boolean {
  const listed = rule.exitCodes?.values?.includes(exitCode) ?? false;
  switch (rule.exitCodes?.operator) {
    case 'In':
      return listed;
    case 'NotIn':
      return !listed;
    default:
      return false;
  }
}

/** Whether this exit asks for a restart of the whole pod in its sandbox. */
export function asksToRestartAllContainers(container: Container, status: RuntimeContainerStatus): boolean {
  if (status.state !== 'exited') return false;
  return matchingRestartRule(container, status.exitCode)?.action === 'RestartAllContainers';
}

/** Whether a container that ended with `exitCode` is started again. Rules count only beside a policy of the container. */
export function containerShouldRestart(pod: Pod, container: Container, exitCode: number): boolean {
  if (container.restartPolicy !== undefined) {
    const action = matchingRestartRule(container, exitCode)?.action;
    if (action === 'Restart' || action === 'RestartAllContainers') return true;
  }
  switch (effectiveRestartPolicy(pod, container)) {
    case 'Never':
      return false;
    case 'OnFailure':
      return exitCode !== 0;
    default:
      return true;
  }
}

/**
 * Whether a container that fails without an exit code is started again: it is about to be killed for its probe, or its state
 * is unknown. Restart rules do not count, because they are about exit codes.
 */
export function restartsOnFailure(pod: Pod, container: Container): boolean {
  return effectiveRestartPolicy(pod, container) !== 'Never';
}

/** The container's own policy if it has a known one, else the pod's. */
function effectiveRestartPolicy(pod: Pod, container: Container): string | undefined {
  const own = container.restartPolicy;
  return RESTART_POLICIES.has(own) ? own : pod.spec.restartPolicy;
}

/** Whether a regular container is to be started now. In a pod that is being deleted, none is. */
export function shouldContainerBeRestarted(
  container: Container,
  pod: Pod,
  podStatus: RuntimePodStatus,
): boolean {
  if (pod.metadata.deletionTimestamp != null) return false;
  const status = containerStatusByName(podStatus, container.name);
  switch (status?.state) {
    case 'running':
      return false;
    case 'exited':
      return containerShouldRestart(pod, container, status.exitCode);
    default:
      return true;
  }
}

/** Whether all containers start over: an exit asked for it, or by the pod's status it is being carried out. */
export function shouldAllContainersRestart(
  pod: Pod,
  podStatus: RuntimePodStatus,
  apiPodStatus: PodStatus | undefined,
): boolean {
  const underWay = apiPodStatus?.conditions?.some(
    (condition) => condition.type === ALL_CONTAINERS_RESTARTING && condition.status === 'True',
  );
  return underWay === true || initAndRegular(pod).some((container) => lastExitAsks(container, podStatus));
}

function lastExitAsks(container: Container, podStatus: RuntimePodStatus): boolean {
  const status = containerStatusByName(podStatus, container.name);
  return status !== undefined && asksToRestartAllContainers(container, status);
}

export function initAndRegular({ spec }: Pick<Pod, 'spec'>): readonly Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}

// A hash of a container's spec, which tells whether a running container was created from an older spec.

const FNV_OFFSET_BASIS = 0x811c9dc5;

const FNV_PRIME = 0x01000193;

/**
 * Hash of the fields whose change restarts a running container. As in the kubelet since 1.31 these are name and image (the
 * API lets only resources change besides, and those are resized in place). The kubelet hashes another spelling of the same
 * fields and gets other numbers, so a hash is only compared with one that we recorded. Hexadecimal.
 */
export function containerHash({ name, image }: Pick<Container, 'name' | 'image'>): string {
  return fnv1a32(canonicalJson({ name, image })).toString(16).padStart(8, '0');
}

/** FNV-1a over the UTF-8 bytes of `text`, unsigned. */
export function fnv1a32(text: string): number {
  const bytes = new TextEncoder().encode(text);
  return bytes.reduce((hash, byte) => Math.imul(hash ^ byte, FNV_PRIME), FNV_OFFSET_BASIS) >>> 0;
}
