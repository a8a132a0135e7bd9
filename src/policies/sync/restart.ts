/** Whether a container that does not run is to run again: restart rules, then its own policy, then the pod's. */
import type { Container, Pod, PodStatus } from '../../types/kubernetes.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../types/runtime-pod.ts';

type ContainerRestartRule = NonNullable<Container['restartPolicyRules']>[number];

/** Set by the kubelet while RestartAllContainers is being carried out. */
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
  return podStatus.containers.find((status) => status.name === name);
}

/** The first of the container's restart rules that speaks about this exit code. */
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

/** Whether the policies let a container that ended with `exitCode` run again. Rules need a policy beside them. */
export function containerShouldRestart(pod: Pod, container: Container, exitCode: number): boolean {
  if (container.restartPolicy !== undefined && matchingRestartRule(container, exitCode)) return true;
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
 * Whether a container that fails without an exit code to judge by comes back: one about to be killed for its probe, or
 * one of which nothing is known. Rules, being about exit codes, have no say.
 */
export function restartsOnFailure(pod: Pod, container: Container): boolean {
  return effectiveRestartPolicy(pod, container) !== 'Never';
}

/** The container's own policy where it has one that we know, else the pod's. */
function effectiveRestartPolicy(pod: Pod, container: Container): string | undefined {
  const own = container.restartPolicy;
  return RESTART_POLICIES.has(own) ? own : pod.spec.restartPolicy;
}

/** Whether a regular container is to be started now. A pod that is being deleted starts nothing. */
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

/** Whether all containers are to start over: some exit asked for it, or the status says that it is under way. */
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

function initAndRegular(pod: Pod): readonly Container[] {
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
}
