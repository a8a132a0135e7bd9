/** How a pod ended, as its status says: so much of it is told with the transitions that end the pod. */
import type { PodStatus } from '../../types/kubernetes.ts';

export type EndStatus = Pick<PodStatus, 'phase' | 'reason' | 'message'>;

export function endStatus({ phase, reason, message }: PodStatus): EndStatus {
  return {
    ...(phase !== undefined && { phase }),
    ...(reason !== undefined && { reason }),
    ...(message !== undefined && { message }),
  };
}
