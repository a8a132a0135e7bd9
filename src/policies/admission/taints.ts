/** What keeps pods away from a node, and which pods that does not keep away. */
import type { Taint, Toleration } from '../../types/kubernetes.ts';

/** Whether one of the tolerations is for this taint. */
export function toleratesTaint(tolerations: readonly Toleration[] | undefined, taint: Taint): boolean {
  return (tolerations ?? []).some((toleration) => isFor(toleration, taint));
}

/** An empty key or effect is for all of them. No operator: equal. */
function isFor({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  if (operator === 'Exists') return true;
  return (!operator || operator === 'Equal') && (value ?? '') === (taint.value ?? '');
}
