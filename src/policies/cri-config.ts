/**
 * What the kubelet writes on sandboxes and containers, and reads back after a restart: names, labels, annotations, log
 * paths. Tools such as crictl recognise pods by them.
 */
import type { ContainerConfig, KeyValue, PodSandboxConfig } from '../types/cri.ts';
import type { Container, EphemeralContainer, Pod } from '../types/kubernetes.ts';
import { containerHash } from './container-hash.ts';

const POD_NAME_LABEL = 'io.kubernetes.pod.name';
const POD_NAMESPACE_LABEL = 'io.kubernetes.pod.namespace';
export const POD_UID_LABEL = 'io.kubernetes.pod.uid';
const CONTAINER_NAME_LABEL = 'io.kubernetes.container.name';
export const CONTAINER_HASH_ANNOTATION = 'io.kubernetes.container.hash';
const RESTART_COUNT_ANNOTATION = 'io.kubernetes.container.restartCount';
const TERMINATION_MESSAGE_PATH_ANNOTATION = 'io.kubernetes.container.terminationMessagePath';
const TERMINATION_MESSAGE_POLICY_ANNOTATION = 'io.kubernetes.container.terminationMessagePolicy';
const GRACE_PERIOD_ANNOTATION = 'io.kubernetes.pod.terminationGracePeriod';
const DELETION_GRACE_PERIOD_ANNOTATION = 'io.kubernetes.pod.deletionGracePeriod';

/** Longest host name that Linux takes. */
const HOSTNAME_MAX_LENGTH = 63;

/** `spec.hostname`, else the pod's name cut to what a host name may be. */
export function podHostname(pod: Pod): string {
  if (pod.spec.hostname) return pod.spec.hostname;
  return pod.metadata.name.slice(0, HOSTNAME_MAX_LENGTH).replace(/[-.]+$/, '');
}

/** The folder of a pod's logs below `podLogsDir`. */
export function podLogsFolder(pod: { namespace: string; name: string; uid: string }): string {
  return `${pod.namespace}_${pod.name}_${pod.uid}`;
}

/** The UID of the pod whose logs a folder of that name holds; undefined where the name is no such folder's. */
export function uidOfLogsFolder(folder: string): string | undefined {
  return /^[^_]+_[^_]+_(.+)$/.exec(folder)?.[1];
}

export function podSandboxConfig(pod: Pod, attempt: number, podLogsDir: string): PodSandboxConfig {
  const { name, namespace, uid, labels, annotations } = pod.metadata;
  return {
    metadata: { name, namespace, uid, attempt },
    hostname: podHostname(pod),
    logDirectory: `${podLogsDir}/${podLogsFolder({ name, namespace, uid })}`,
    labels: { ...labels, ...podLabels(pod) },
    annotations: { ...annotations },
    linux: { securityContext: { namespaceOptions: { network: pod.spec.hostNetwork ? 'NODE' : 'POD' } } },
  };
}

/** What a container gets to run, once references and `$(VAR)` have been resolved. */
export interface ResolvedCommand {
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly envs: readonly KeyValue[];
}

export function containerConfig(
  pod: Pod,
  container: Container | EphemeralContainer,
  attempt: number,
  resolved: ResolvedCommand,
): ContainerConfig {
  const security = { ...pod.spec.securityContext, ...container.securityContext };
  return {
    metadata: { name: container.name, attempt },
    image: { image: container.image ?? '' },
    ...resolved,
    workingDir: container.workingDir,
    labels: { ...podLabels(pod), [CONTAINER_NAME_LABEL]: container.name },
    annotations: containerAnnotations(pod, container, attempt),
    logPath: `${container.name}/${String(attempt)}.log`,
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    linux: { securityContext: { runAsUser: security.runAsUser, runAsGroup: security.runAsGroup } },
  };
}

function podLabels(pod: Pod): Record<string, string> {
  const { name, namespace, uid } = pod.metadata;
  return { [POD_NAME_LABEL]: name, [POD_NAMESPACE_LABEL]: namespace, [POD_UID_LABEL]: uid };
}

function containerAnnotations(
  pod: Pod,
  container: Container | EphemeralContainer,
  attempt: number,
): Record<string, string> {
  const annotations: Record<string, string> = {
    [CONTAINER_HASH_ANNOTATION]: containerHash(container),
    [RESTART_COUNT_ANNOTATION]: String(attempt),
    [TERMINATION_MESSAGE_PATH_ANNOTATION]: container.terminationMessagePath ?? '/dev/termination-log',
    [TERMINATION_MESSAGE_POLICY_ANNOTATION]: container.terminationMessagePolicy ?? 'File',
  };
  const { terminationGracePeriodSeconds } = pod.spec;
  const { deletionGracePeriodSeconds } = pod.metadata;
  if (terminationGracePeriodSeconds != null) {
    annotations[GRACE_PERIOD_ANNOTATION] = String(terminationGracePeriodSeconds);
  }
  if (deletionGracePeriodSeconds != null) {
    annotations[DELETION_GRACE_PERIOD_ANNOTATION] = String(deletionGracePeriodSeconds);
  }
  return annotations;
}
