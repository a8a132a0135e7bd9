/** Which nodes a pod may run on: its node selector, and the node affinity that it requires. */
import type { NodeSelectorRequirement, NodeSelectorTerm, Pod } from '../../../types/kubernetes.ts';

export interface SelectableNode {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
}

const INTEGER = /^[+-]?\d+$/;

/** At least one of several terms has to hold. Preferred terms concern only the scheduler. */
export function matchesNodeAffinity({ spec }: Pod, node: SelectableNode): boolean {
  const selected = Object.entries(spec.nodeSelector ?? {});
  if (!selected.every(([key, value]) => node.labels.get(key) === value)) return false;
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required == null || matchesNodeTerms(required.nodeSelectorTerms, node);
}

/** Whether one of the terms selects the node. */
export function matchesNodeTerms(terms: readonly NodeSelectorTerm[], node: SelectableNode): boolean {
  return terms.some((term) => matchesTerm(term, node));
}

/** Every requirement of a term has to hold; an empty term selects no node. */
function matchesTerm(
  { matchExpressions = [], matchFields = [] }: NodeSelectorTerm,
  node: SelectableNode,
): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  return (
    matchExpressions.every((requirement) => matchesLabels(requirement, node.labels)) &&
    matchFields.every((requirement) => matchesField(requirement, node.name))
  );
}

/** A requirement that is invalid (no values, a word instead of a number) selects nothing. */
export function matchesLabels(
  { key, operator, values = [] }: NodeSelectorRequirement,
  labels: ReadonlyMap<string, string>,
): boolean {
  const label = labels.get(key);
  switch (operator) {
    case 'In':
      return label !== undefined && values.includes(label);
    case 'NotIn':
      return values.length > 0 && (label === undefined || !values.includes(label));
    case 'Exists':
      return values.length === 0 && label !== undefined;
    case 'DoesNotExist':
      return values.length === 0 && label === undefined;
    case 'Gt':
      return values.length === 1 && isGreater(label, values[0]);
    case 'Lt':
      return values.length === 1 && isGreater(values[0], label);
    default:
      return false;
  }
}

/** Whether both are whole numbers, and `text` is the greater one. */
function isGreater(text: string | undefined, than: string | undefined): boolean {
  if (text === undefined || than === undefined) return false;
  return INTEGER.test(text) && INTEGER.test(than) && BigInt(text) > BigInt(than);
}

/** The only field that a term can select by is `metadata.name`. */
function matchesField({ key, operator, values = [] }: NodeSelectorRequirement, nodeName: string): boolean {
  if (values.length !== 1) return false;
  const equal = (key === 'metadata.name' ? nodeName : '') === values[0];
  return operator === 'In' ? equal : operator === 'NotIn' && !equal;
}
