/** What kind of machine the node is: pods for another operating system can never run here. */
import type { Pod } from '../../types/kubernetes.ts';
import type { NodeFacts } from '../../types/node-facts.ts';
import type { Rejection } from './rejection.ts';

const OS_LABEL = 'kubernetes.io/os';
const ARCH_LABEL = 'kubernetes.io/arch';

/** The labels that selectors see. The operating system is always the real one, even if the node is labelled otherwise. */
export function nodeLabels({ labels, os, arch }: NodeFacts): ReadonlyMap<string, string> {
  return new Map([[ARCH_LABEL, arch], ...Object.entries(labels), [OS_LABEL, os]]);
}

/** Undefined where the pod may run on this machine. As in the kubelet, the pod's label counts here, not its selector. */
export function platformRejection(node: NodeFacts, { metadata, spec }: Pod): Rejection | undefined {
  const osLabel = metadata.labels?.[OS_LABEL];
  if (osLabel !== undefined && osLabel !== node.os) {
    const message = `Failed to admit pod as the \`${OS_LABEL}\` label doesn't match node label`;
    return { reason: 'PodOSSelectorNodeLabelDoesNotMatch', message };
  }
  if (spec.os != null && spec.os.name !== node.os) {
    const message = "Failed to admit pod as the OS field doesn't match node OS";
    return { reason: 'PodOSNotSupported', message };
  }
  if (spec.securityContext?.supplementalGroupsPolicy === 'Strict' && !node.supplementalGroupsPolicy) {
    const message = 'SupplementalGroupsPolicy=Strict is not supported in this node';
    return { reason: 'SupplementalGroupsPolicyNotSupported', message };
  }
  return undefined;
}
