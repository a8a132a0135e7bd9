/** The priority of an ordinary pod of a manifest. The API server takes it from the PriorityClass; here only the two of every cluster are known. */
import type { PodSpec } from '../../types/kubernetes.ts';

const KNOWN_PRIORITIES: Readonly<Record<string, number>> = {
  'system-node-critical': 2_000_001_000,
  'system-cluster-critical': 2_000_000_000,
};
const KNOWN_CLASSES = Object.keys(KNOWN_PRIORITIES).join(' and ');

export function withPriority(spec: PodSpec): PodSpec {
  const { priorityClassName = '', priority = KNOWN_PRIORITIES[priorityClassName] ?? 0 } = spec;
  return { preemptionPolicy: 'PreemptLowerPriority', ...spec, priority };
}

/** What is wrong with the priority of a spec, which need not fit the schema. */
export function priorityProblem({
  priorityClassName,
  priority,
}: Readonly<Record<string, unknown>>): { readonly field: string; readonly message: string } | undefined {
  if (typeof priorityClassName !== 'string' || priorityClassName === '') return undefined;
  const known = KNOWN_PRIORITIES[priorityClassName];
  if (known === undefined && priority === undefined) {
    const message = `"${priorityClassName}" is not known without an API server (known are ${KNOWN_CLASSES}): add its number as spec.priority`;
    return { field: 'priorityClassName', message };
  }
  if (known === undefined || priority === undefined || priority === known) return undefined;
  return { field: 'priority', message: `must be that of ${priorityClassName}, ${known}, or be left out` };
}
