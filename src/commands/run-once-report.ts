/** The output of `statelet run-once`: a line for each pod when its outcome is known, then a table; or one JSON document. */
import { oneLine } from '../policies/formats/terminal-text.ts';
import { CONFIG_SOURCE_ANNOTATION } from '../policies/pod/pod-kinds.ts';
import { podSummary } from '../policies/status/pod-table.ts';
import type { PodOutcome, PodResult } from '../run-once/pod-result.ts';
import type { RunOnceReport } from '../run-once/run-once.ts';
import type { ContainerStatus, Pod } from '../types/kubernetes.ts';
import { formatTable } from './table.ts';

export function podText({ metadata }: Pod): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** `default/web-node1: Failed: ContainersFailed: …`. */
export function resultLine(pod: Pod, { result, reason, message }: PodOutcome): string {
  return oneLine([podText(pod), result, reason, message].filter((part) => part !== undefined).join(': '));
}

export function resultTable({ pods }: RunOnceReport): string {
  if (pods.length === 0) return 'No pods.\n';
  const header = ['NAMESPACE', 'NAME', 'READY', 'STATUS', 'RESTARTS', 'RESULT', 'FAILED'];
  return formatTable([header, ...pods.map(row)]);
}

function row({ pod, result, failedContainers }: PodResult): string[] {
  const { ready, total, status, restarts } = podSummary(pod);
  const { namespace, name } = pod.metadata;
  const failed = failedContainers.join() || '<none>';
  return [namespace, name, `${ready}/${total}`, status, `${restarts}`, result, failed];
}

export function resultJson({ pods, problems }: RunOnceReport): string {
  return `${JSON.stringify({ pods: pods.map(podView), problems }, null, 2)}\n`;
}

function podView({ pod, result, reason, message, failedContainers, leftRunning }: PodResult) {
  const { metadata, status } = pod;
  const { namespace, name, uid } = metadata;
  return {
    namespace,
    name,
    uid,
    source: metadata.annotations?.[CONFIG_SOURCE_ANNOTATION],
    result,
    reason,
    message,
    failedContainers,
    leftRunning,
    phase: status?.phase,
    podIP: status?.podIP,
    initContainers: status?.initContainerStatuses?.map(containerView) ?? [],
    containers: status?.containerStatuses?.map(containerView) ?? [],
  };
}

function containerView({ name, image, ready, restartCount, state, lastState }: ContainerStatus) {
  return { name, image, ready, restartCount, state, lastState };
}
