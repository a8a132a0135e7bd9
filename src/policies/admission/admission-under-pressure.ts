/** Which pods are still admitted while the node has a pressure condition. */
import type { Pod } from '../../types/kubernetes.ts';
import type { Rejection } from './rejection.ts';
import { isCriticalPod } from '../pod/pod-kinds.ts';
import { podQOS } from '../pod/qos.ts';
import { toleratesTaint } from './taints.ts';

const MEMORY_PRESSURE = 'MemoryPressure';
const MEMORY_PRESSURE_TAINT = { key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule' };

/** `conditions`: the pressure conditions of the node that are true now. Undefined where they do not keep the pod out. */
export function pressureRejection(conditions: readonly string[], pod: Pod): Rejection | undefined {
  if (conditions.length === 0 || isCriticalPod(pod)) return undefined;
  const onlyMemory = conditions.every((condition) => condition === MEMORY_PRESSURE);
  if (onlyMemory && isAdmittedUnderMemoryPressure(pod)) return undefined;
  return { reason: 'Evicted', message: `The node had condition: [${conditions.join(' ')}]. ` };
}

/** A pod that has requested its memory is not among the first that eviction ends. */
function isAdmittedUnderMemoryPressure(pod: Pod): boolean {
  return podQOS(pod) !== 'BestEffort' || toleratesTaint(pod.spec.tolerations, MEMORY_PRESSURE_TAINT);
}
