/**
 * The kubelet's labels, annotations and log paths of sandboxes and containers. The agent reads them back after a restart,
 * and tools such as crictl find pods by them.
 */
import type { Container, EphemeralContainer, Pod } from '../../../types/kubernetes.ts';
import type { GivenResources } from '../../../types/runtime-pod.ts';
import { allocationFromPod, withoutEmpty } from '../resize/allocation.ts';
import { containerHash } from '../pod-actions/restart.ts';

type Texts = Record<string, string>;

const POD_NAME_LABEL = 'io.kubernetes.pod.name';
const POD_NAMESPACE_LABEL = 'io.kubernetes.pod.namespace';
export const POD_UID_LABEL = 'io.kubernetes.pod.uid';
export const CONTAINER_NAME_LABEL = 'io.kubernetes.container.name';
export const CONTAINER_HASH_ANNOTATION = 'io.kubernetes.container.hash';
const RESTART_COUNT_ANNOTATION = 'io.kubernetes.container.restartCount';
export const TERMINATION_MESSAGE_PATH_ANNOTATION = 'io.kubernetes.container.terminationMessagePath';
export const TERMINATION_MESSAGE_POLICY_ANNOTATION = 'io.kubernetes.container.terminationMessagePolicy';
const PRE_STOP_HANDLER_ANNOTATION = 'io.kubernetes.container.preStopHandler';
/** On containers with a postStart hook whose completion the agent remembers. Those of the kubelet do not have it. */
export const POST_START_ANNOTATION = 'statelet.dev/post-start';
/** The resources with which the container or sandbox was created. The runtime keeps them; the agent records later resizes. */
export const RESOURCES_ANNOTATION = 'statelet.dev/resources';
/** The devices with which the container was created, by resource. A container that has not started is used only with these. */
export const DEVICES_ANNOTATION = 'statelet.dev/devices';
const PORTS_ANNOTATION = 'io.kubernetes.container.ports';
const GRACE_PERIOD_ANNOTATION = 'io.kubernetes.pod.terminationGracePeriod';
const DELETION_GRACE_PERIOD_ANNOTATION = 'io.kubernetes.pod.deletionGracePeriod';

/** The labels and annotations by which the agent knows what it has made. */
export const IDENTIFYING_NAMES: ReadonlySet<string> = new Set([
  POD_NAME_LABEL,
  POD_NAMESPACE_LABEL,
  POD_UID_LABEL,
  CONTAINER_NAME_LABEL,
  CONTAINER_HASH_ANNOTATION,
  RESTART_COUNT_ANNOTATION,
]);

/** The folder of a pod's logs below `podLogsDir`. */
export function podLogsFolder(pod: { namespace: string; name: string; uid: string }): string {
  return `${pod.namespace}_${pod.name}_${pod.uid}`;
}

/** The pod whose logs are in a folder of that name; undefined for other folders. */
export function podOfLogsFolder(
  folder: string,
): { namespace: string; name: string; uid: string } | undefined {
  const [, namespace, name, uid] = /^([^_]+)_([^_]+)_(.+)$/.exec(folder) ?? [];
  if (namespace === undefined || name === undefined || uid === undefined) return undefined;
  return { namespace, name, uid };
}

/** The pod's own labels, and the labels by which its sandbox is found. A label of the pod cannot replace one of these. */
export function sandboxLabels(pod: Pod): Texts {
  return { ...pod.metadata.labels, ...podLabels(pod) };
}

/** Those of the pod, and the resources that it was granted: its spec may ask for others when a next agent reads it. */
export function sandboxAnnotations(pod: Pod): Texts {
  return { ...pod.metadata.annotations, [RESOURCES_ANNOTATION]: JSON.stringify(allocationFromPod(pod)) };
}

export function containerLabels(pod: Pod, { name }: Container | EphemeralContainer): Texts {
  return { ...podLabels(pod), [CONTAINER_NAME_LABEL]: name };
}

function podLabels({ metadata: { name, namespace, uid } }: Pod): Texts {
  return { [POD_NAME_LABEL]: name, [POD_NAMESPACE_LABEL]: namespace, [POD_UID_LABEL]: uid };
}

/** They include what is needed to stop the container properly when its spec is not known any more. */
export function containerAnnotations(
  pod: Pod,
  container: Container | EphemeralContainer,
  attempt: number,
): Texts {
  const annotations: Texts = {
    [CONTAINER_HASH_ANNOTATION]: containerHash(container),
    [RESTART_COUNT_ANNOTATION]: String(attempt),
    [TERMINATION_MESSAGE_PATH_ANNOTATION]: container.terminationMessagePath ?? '/dev/termination-log',
    [TERMINATION_MESSAGE_POLICY_ANNOTATION]: container.terminationMessagePolicy ?? 'File',
    [RESOURCES_ANNOTATION]: JSON.stringify(givenResources(pod, container)),
  };
  const preStop = container.lifecycle?.preStop;
  if (preStop) annotations[PRE_STOP_HANDLER_ANNOTATION] = JSON.stringify(preStop);
  if (container.lifecycle?.postStart) annotations[POST_START_ANNOTATION] = 'remembered';
  if (container.ports?.length) annotations[PORTS_ANNOTATION] = JSON.stringify(container.ports);
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

/** Reads this container alone: to read all for each of thousands would block the agent. */
function givenResources({ spec }: Pod, container: Container | EphemeralContainer): GivenResources {
  return {
    container: withoutEmpty(container.resources),
    pod: spec.resources && withoutEmpty(spec.resources),
  };
}

export function containerLogPath(
  podLogsDir: string,
  pod: { namespace: string; name: string; uid: string },
  container: string,
  attempt: number,
): string {
  return `${podLogsDir}/${podLogsFolder(pod)}/${container}/${String(attempt)}.log`;
}

/** The pod to which a sandbox or container with these labels belongs; fields without a label are empty. */
export function podOfLabels(labels: Readonly<Texts>): { name: string; namespace: string; uid: string } {
  return {
    name: labels[POD_NAME_LABEL] ?? '',
    namespace: labels[POD_NAMESPACE_LABEL] ?? '',
    uid: labels[POD_UID_LABEL] ?? '',
  };
}
