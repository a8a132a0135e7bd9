import type { OwnNodeFacts } from '../../types/node-facts.ts';
import type { Node } from '../../types/kubernetes.ts';

/** What pods are judged by in a cluster: labels, taints and allocatable are those of the node object, as the scheduler sees them. */
export function withNodeObject(own: OwnNodeFacts, node: Node | undefined): OwnNodeFacts {
  if (node === undefined) return own;
  const { metadata, spec, status } = node;
  return {
    ...own,
    labels: metadata.labels ?? {},
    taints: spec?.taints ?? [],
    capacity: status?.capacity ?? own.capacity,
    allocatable: status?.allocatable ?? own.allocatable,
  };
}
