/** Which labels and taints the settings may give to a node. */
import type { Taint } from '../../types/kubernetes.ts';

type Labels = Readonly<Record<string, string>>;

const NAME = /^(?=.{1,63}$)[A-Za-z\d](?:[-\w.]*[A-Za-z\d])?$/;
const PREFIX = /^(?=.{1,253}$)[a-z\d](?:[-a-z\d]*[a-z\d])?(?:\.[a-z\d](?:[-a-z\d]*[a-z\d])?)*$/;

/** Namespaces of Kubernetes in which a node may label itself, with their subdomains. */
const OPEN_NAMESPACES = ['kubelet.kubernetes.io', 'node.kubernetes.io'];
const OPEN_LABELS = [
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'beta.kubernetes.io/os',
  'failure-domain.beta.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'kubernetes.io/arch',
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'node.kubernetes.io/instance-type',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
];

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** `NAME`, or `PREFIX/NAME` with a DNS name before the slash. */
export function isQualifiedName(text: string): boolean {
  const parts = text.split('/');
  const [name = '', prefix] = parts.toReversed();
  return parts.length <= 2 && NAME.test(name) && (prefix === undefined || PREFIX.test(prefix));
}

/** What is wrong with labels for the node, completing "must be …". */
export function nodeLabelsProblem(labels: Labels): string | undefined {
  const closed = Object.keys(labels).filter((key) => isOfKubernetes(key) && !mayBeSet(key));
  if (closed.length > 0) {
    const open = `under ${OPEN_NAMESPACES.join(' or ')}, or one of ${OPEN_LABELS.join(', ')}`;
    return `labels outside kubernetes.io and k8s.io, ${open}: ${closed.join(', ')} is none of these`;
  }
  for (const [key, value] of Object.entries(labels)) {
    if (!isQualifiedName(key)) return `labels such as example.com/disk=ssd: "${key}" is no name of a label`;
    if (!isLabelValue(value)) return `labels such as example.com/disk=ssd: ${valueProblem(value)}`;
  }
  return undefined;
}

/** What is wrong with taints for the node, completing "must be …". */
export function taintsProblem(taints: readonly Taint[]): string | undefined {
  for (const { key, value = '', effect, timeAdded } of taints) {
    if (!isQualifiedName(key)) return `taints: "${key}" is no key of a taint`;
    if (!isLabelValue(value)) return `taints: ${valueProblem(value)}`;
    if (!EFFECTS.includes(effect))
      return `taints with one of the effects ${EFFECTS.join(', ')}: "${effect}" is none`;
    if (timeAdded != null) return 'taints without timeAdded';
  }
  return undefined;
}

function isOfKubernetes(key: string): boolean {
  return /(?:^|\.)(?:kubernetes|k8s)\.io$/.test(namespaceOf(key));
}

function mayBeSet(key: string): boolean {
  const namespace = namespaceOf(key);
  return (
    OPEN_LABELS.includes(key) ||
    OPEN_NAMESPACES.some((open) => namespace === open || namespace.endsWith(`.${open}`))
  );
}

function namespaceOf(key: string): string {
  const slash = key.indexOf('/');
  return slash < 0 ? '' : key.slice(0, slash);
}

function isLabelValue(value: string): boolean {
  return value === '' || NAME.test(value);
}

function valueProblem(value: string): string {
  return `"${value}" is no value: at most 63 letters, digits, "-", "_" and ".", beginning and ending with a letter or digit`;
}
