/** What a pod says to eviction plugins by its annotations and labels, and how it is shown to them. */
import { StateletError } from '../../../types/errors.ts';
import type { EvictionPluginSettings } from '../../../types/node-settings.ts';
import type { Pod, PodStatus } from '../../../types/kubernetes.ts';
import { CONFIG_SOURCE_ANNOTATION, isCriticalPod, isLocalPod } from '../pod/pod-kinds.ts';

/** Katalyst's quality of service, which a pod names in an annotation. */
export type QosLevel = 'shared_cores' | 'dedicated_cores' | 'reclaimed_cores' | 'system_cores';

const QOS_LEVEL_ANNOTATION = 'katalyst.kubewharf.io/qos_level';
export const SOFT_EVICT_NOTIFY_ANNOTATION = 'katalyst.kubewharf.io/pod_soft_evict_notify';
export const QOS_LEVELS: ReadonlySet<string> = new Set<QosLevel>([
  'shared_cores',
  'dedicated_cores',
  'reclaimed_cores',
  'system_cores',
]);

/** `shared_cores` where the pod names none. Throws a StateletError of kind InvalidArgument for an unknown one. */
export function qosLevel(pod: Pod): QosLevel {
  const level = knownQosLevel(pod);
  if (level !== undefined) return level;
  throw new StateletError('InvalidArgument', "can't get valid qos level");
}

/** As `qosLevel`, but undefined for an unknown one. */
export function knownQosLevel(pod: Pod): QosLevel | undefined {
  const level = pod.metadata.annotations?.[QOS_LEVEL_ANNOTATION] ?? 'shared_cores';
  return QOS_LEVELS.has(level) ? (level as QosLevel) : undefined;
}

/** Whether plugins may end the pod. As in Katalyst, one with an unknown level may be ended, even where it is critical. */
export function isEvictable(pod: Pod): boolean {
  const level = knownQosLevel(pod);
  if (level === undefined) return true;
  return level !== 'system_cores' && !isCriticalPod(pod);
}

/** Whether the pod asks for a notice instead of being chosen among the candidates. */
export function wantsNotice({ metadata: { annotations } }: Pod): boolean {
  return annotations?.[SOFT_EVICT_NOTIFY_ANNOTATION]?.toLowerCase() === 'true';
}

interface Shown {
  readonly status: PodStatus | undefined;
  readonly pod: Pod;
}

/** By the pod as its source has it. The same object is shown until the status changes: what is made from it can be kept with it. */
const shown = new WeakMap<Pod, Shown>();

/**
 * The pod with its present status. To other programs a pod of any source but `api` is a static one, so an ordinary pod of a manifest
 * (`--pods`) is shown as one of the API server.
 */
export function shownToPlugins(pod: Pod, status: PodStatus | undefined): Pod {
  const known = shown.get(pod);
  if (known?.status === status && known !== undefined) return known.pod;
  const own = isLocalPod(pod) ? withSource(pod, 'api') : pod;
  const made = status === undefined ? own : { ...own, status };
  shown.set(pod, { status, pod: made });
  return made;
}

function withSource(pod: Pod, source: string): Pod {
  const annotations = { ...pod.metadata.annotations, [CONFIG_SOURCE_ANNOTATION]: source };
  return { ...pod, metadata: { ...pod.metadata, annotations } };
}

/** Whether the pod is kept from plugins: its annotations or labels say so, by a name with any value. */
export function isSkipped(
  { metadata: { annotations, labels } }: Pod,
  { skippedAnnotations, skippedLabels }: Pick<EvictionPluginSettings, 'skippedAnnotations' | 'skippedLabels'>,
): boolean {
  return (
    skippedAnnotations.some((name) => annotations?.[name] !== undefined) ||
    skippedLabels.some((name) => labels?.[name] !== undefined)
  );
}
