/** The taints that conditions of plugins become. No other taint is ever touched. */
export const CONDITION_TAINT_PREFIX = 'katalyst.kubewharf.io/';

export const CONDITION_EFFECTS: readonly string[] = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

export function conditionTaintKey(condition: string): string {
  return CONDITION_TAINT_PREFIX + condition;
}
