/** Which pods may still come while the node runs short of something. */
import type { Pod } from '../../types/kubernetes.ts';
import type { Rejection } from './rejection.ts';
import { isCriticalPod } from '../pod/pod-kinds.ts';
import { podQOS } from '../pod/qos.ts';
import { toleratesTaint } from './taints.ts';

const MEMORY_PRESSURE = 'MemoryPressure';
const MEMORY_PRESSURE_TAINT = { key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule' };

/** `conditions`: those that hold now. Undefined where the pod may come. */
export function pressureRejection(conditions: readonly string[], pod: Pod): Rejection | undefined {
  if (conditions.length === 0 || isCriticalPod(pod)) return undefined;
  const onlyMemory = conditions.every((condition) => condition === MEMORY_PRESSURE);
  if (onlyMemory && maySpendMemory(pod)) return undefined;
  return { reason: 'Evicted', message: `The node had condition: [${conditions.join(' ')}]. ` };
}

/** What has requested its memory is not what eviction begins with. */
function maySpendMemory(pod: Pod): boolean {
  return podQOS(pod) !== 'BestEffort' || toleratesTaint(pod.spec.tolerations, MEMORY_PRESSURE_TAINT);
}
