/** A container that has ended stays ended, unless it may be started again. */
import type { Container, ContainerStatus, Pod, PodStatus } from '../../types/kubernetes.ts';
import { named } from '../pod/named.ts';
import { containerShouldRestart, isRestartableInitContainer } from '../sync/restart.ts';

/** Why `status` must not follow on `former`, if so. */
export function forbiddenTransition(pod: Pod, former: PodStatus, status: PodStatus): string | undefined {
  const { spec } = pod;
  if (spec.restartPolicy === 'Always' || canRestartAllContainers(spec)) return undefined;
  for (const old of former.containerStatuses ?? []) {
    const container = named(spec.containers, old.name);
    if (mayRestart(pod, container, old)) continue;
    if (leavesEnd(old, status.containerStatuses)) return illegal('container', old.name);
  }
  for (const [i, old] of (former.initContainerStatuses ?? []).entries()) {
    const container = spec.initContainers?.[i];
    if (container?.name !== old.name) {
      return `found mismatch between pod spec and status, container: ${old.name}`;
    }
    if (isRestartableInitContainer(container) || mayRestart(pod, container, old)) continue;
    if (leavesEnd(old, status.initContainerStatuses)) return illegal('init container', old.name);
  }
  return undefined;
}

function illegal(what: string, name: string): string {
  return `terminated ${what} ${name} attempted illegal transition to non-terminated state`;
}

function canRestartAllContainers({ containers, initContainers = [] }: Pod['spec']): boolean {
  return [...initContainers, ...containers].some(({ restartPolicyRules = [] }) =>
    restartPolicyRules.some(({ action }) => action === 'RestartAllContainers'),
  );
}

/** As with the kubelet, a failure may be followed by a restart wherever the pod's policy is OnFailure, whatever the container's own is. */
function mayRestart(pod: Pod, container: Container | undefined, { state }: ContainerStatus): boolean {
  const exitCode = state?.terminated?.exitCode;
  if (exitCode === undefined) return false;
  if (exitCode !== 0 && pod.spec.restartPolicy === 'OnFailure') return true;
  return container !== undefined && containerShouldRestart(pod, container, exitCode);
}

function leavesEnd({ name, state }: ContainerStatus, statuses: readonly ContainerStatus[] = []): boolean {
  if (state?.terminated == null) return false;
  const status = named(statuses, name);
  return status !== undefined && status.state?.terminated == null;
}
