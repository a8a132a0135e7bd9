import { StateletError } from '../../types/errors.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { isCriticalPod } from '../pod/pod-kinds.ts';

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

/** Whether the pod wants to be told instead of being chosen among the candidates. */
export function wantsNotice({ metadata: { annotations } }: Pod): boolean {
  return annotations?.[SOFT_EVICT_NOTIFY_ANNOTATION]?.toLowerCase() === 'true';
}
