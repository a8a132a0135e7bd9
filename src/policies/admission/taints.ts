/** Which taints of a node a pod tolerates. */
import type { Taint, Toleration } from '../../types/kubernetes.ts';

/** Whether one of the tolerations matches this taint. */
export function toleratesTaint(tolerations: readonly Toleration[] | undefined, taint: Taint): boolean {
  return (tolerations ?? []).some((toleration) => matches(toleration, taint));
}

/** An empty key or effect matches every key or effect. Without an operator, the values have to be equal. */
function matches({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  if (operator === 'Exists') return true;
  return (!operator || operator === 'Equal') && (value ?? '') === (taint.value ?? '');
}
