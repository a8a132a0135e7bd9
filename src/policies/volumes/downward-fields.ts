/** The downward API: the fields of a pod that its containers can read. */
import type { Pod } from '../../types/kubernetes.ts';
import { StateletError } from '../../types/errors.ts';

export interface PodAddresses {
  /** In both lists the primary address comes first. */
  readonly podIPs: readonly string[];
  readonly hostIPs: readonly string[];
}

type Field = (pod: Pod, addresses: PodAddresses) => string;

const FIELDS: ReadonlyMap<string, Field> = new Map<string, Field>(
  Object.entries({
    'metadata.name': (pod) => pod.metadata.name,
    'metadata.namespace': (pod) => pod.metadata.namespace,
    'metadata.uid': (pod) => pod.metadata.uid,
    'spec.nodeName': (pod) => pod.spec.nodeName ?? '',
    'spec.serviceAccountName': (pod) => pod.spec.serviceAccountName ?? '',
    'status.podIP': (_, { podIPs }) => podIPs[0] ?? '',
    'status.podIPs': (_, { podIPs }) => podIPs.join(','),
    'status.hostIP': (_, { hostIPs }) => hostIPs[0] ?? '',
    'status.hostIPs': (_, { hostIPs }) => hostIPs.join(','),
  }),
);

/** `metadata.labels['key']`, `metadata.annotations['key']`. */
const SUBSCRIPT = /^metadata\.(labels|annotations)\['(.*)'\]$/s;

/** Empty if the pod does not have the field. An unknown `fieldPath` throws a StateletError of kind InvalidArgument. */
export function fieldValue(pod: Pod, fieldPath: string, addresses: PodAddresses): string {
  const [, map, key] = SUBSCRIPT.exec(fieldPath) ?? [];
  if (key !== undefined) return own(pod.metadata[map as 'labels' | 'annotations'], key);
  const field = FIELDS.get(fieldPath);
  if (field) return field(pod, addresses);
  const known = [...FIELDS.keys(), "metadata.labels['KEY']", "metadata.annotations['KEY']"].join(', ');
  throw new StateletError('InvalidArgument', `fieldPath ${fieldPath} is not supported; there are: ${known}`);
}

/** Only own properties count: a label may be called `constructor`. */
function own(map: Readonly<Record<string, string>> | undefined, key: string): string {
  return map && Object.hasOwn(map, key) ? (map[key] ?? '') : '';
}
