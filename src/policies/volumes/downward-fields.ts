/** The downward API: the fields of a pod that its containers can read. */
import type { Pod } from '../../types/kubernetes.ts';
import { StateletError } from '../../types/errors.ts';
import { goQuote } from '../formats/go-quote.ts';
import { qualifiedNameProblems } from '../formats/qualified-name.ts';

export interface PodAddresses {
  /** In both lists the primary address comes first. */
  readonly podIPs: readonly string[];
  readonly hostIPs: readonly string[];
}

type Field<Facts = undefined> = (pod: Pod, facts: Facts) => string;

/** Fields that may change while a container runs only by a change of the pod itself. */
const METADATA: ReadonlyMap<string, Field> = new Map<string, Field>(
  Object.entries({
    'metadata.name': ({ metadata }) => metadata.name,
    'metadata.namespace': ({ metadata }) => metadata.namespace,
    'metadata.uid': ({ metadata }) => metadata.uid,
    'metadata.labels': ({ metadata }) => mapContent(metadata.labels ?? {}),
    'metadata.annotations': ({ metadata }) => mapContent(metadata.annotations ?? {}),
  }),
);

const nodeName: Field<PodAddresses> = ({ spec }) => spec.nodeName ?? '';

const FIELDS: ReadonlyMap<string, Field<PodAddresses>> = new Map<string, Field<PodAddresses>>(
  Object.entries({
    'spec.nodeName': nodeName,
    // The name of old clients.
    'spec.host': nodeName,
    'spec.serviceAccountName': ({ spec }) => spec.serviceAccountName ?? '',
    'status.podIP': (_, { podIPs }) => podIPs[0] ?? '',
    'status.podIPs': (_, { podIPs }) => podIPs.join(','),
    'status.hostIP': (_, { hostIPs }) => hostIPs[0] ?? '',
    'status.hostIPs': (_, { hostIPs }) => hostIPs.join(','),
  }),
);

/** Fields that Kubernetes knows, and whose values no container can read. */
const LABELS_WITHOUT_VALUE: ReadonlySet<string> = new Set([
  'spec.restartPolicy',
  'spec.schedulerName',
  'status.phase',
]);

/** `metadata.labels['key']`, `metadata.annotations['key']`. */
const SUBSCRIPT = /^metadata\.(labels|annotations)\['(.*)'\]$/s;
const ANY_SUBSCRIPT = /^.+?\['.*'\]$/s;
const SUBSCRIPTS = ["metadata.labels['KEY']", "metadata.annotations['KEY']"];

/** Empty if the pod does not have the field. An unknown `fieldPath` throws a StateletError of kind InvalidArgument. */
export function fieldValue(pod: Pod, fieldPath: string, addresses: PodAddresses): string {
  const field = FIELDS.get(fieldPath);
  if (field) return field(pod, addresses);
  const value = metadataValue(pod, fieldPath);
  if (value !== undefined) return value;
  throw refused(labelProblem(fieldPath), [...METADATA.keys(), ...FIELDS.keys()]);
}

/** A variable's path is read twice: first whether the version of the pod has such a field at all, then for its value. */
function labelProblem(fieldPath: string): string {
  if (ANY_SUBSCRIPT.test(fieldPath)) return `field label does not support subscript: ${fieldPath}`;
  if (LABELS_WITHOUT_VALUE.has(fieldPath)) return `unsupported fieldPath: ${fieldPath}`;
  return `field label not supported: ${fieldPath}`;
}

/**
 * The same for files: only of the pod's metadata. The pod's addresses may change while a container runs, so files cannot hold
 * them.
 */
export function fileFieldValue(pod: Pod, fieldPath: string): string {
  const value = metadataValue(pod, fieldPath);
  if (value !== undefined) return value;
  const problem = ANY_SUBSCRIPT.test(fieldPath)
    ? `fieldPath ${goQuote(fieldPath)} does not support subscript`
    : `unsupported fieldPath: ${fieldPath}`;
  throw refused(problem, [...METADATA.keys()]);
}

function refused(problem: string, known: readonly string[]): StateletError {
  const message = `${problem} (there are: ${[...known, ...SUBSCRIPTS].join(', ')})`;
  return new StateletError('InvalidArgument', message);
}

/** The end of a sentence about a fieldPath. */
export const UNSUPPORTED_FIELD_PATH = `is not supported in a volume; there are: ${[...METADATA.keys(), ...SUBSCRIPTS].join(', ')}`;

export function isVolumeFieldPath(fieldPath: string): boolean {
  return METADATA.has(fieldPath) || (SUBSCRIPT.exec(fieldPath)?.[2] ?? '') !== '';
}

function metadataValue(pod: Pod, fieldPath: string): string | undefined {
  const [, map, key] = SUBSCRIPT.exec(fieldPath) ?? [];
  if (key === undefined) return METADATA.get(fieldPath)?.(pod, undefined);
  // Keys of annotations may have capitals also in their prefix.
  const problems = qualifiedNameProblems(map === 'annotations' ? key.toLowerCase() : key);
  if (problems.length === 0) return own(pod.metadata[map as 'labels' | 'annotations'], key);
  const message = `invalid key subscript in ${fieldPath}: ${problems.join(';')}`;
  throw new StateletError('InvalidArgument', message);
}

/** Only own properties count: a label may be called `constructor`. */
function own(map: Readonly<Record<string, string>> | undefined, key: string): string {
  return map && Object.hasOwn(map, key) ? (map[key] ?? '') : '';
}

/** A line `key="value"` for each entry, sorted by key, without a line feed at the end. */
function mapContent(map: Readonly<Record<string, string>>): string {
  const keys = Object.keys(map).sort((a, b) => (a < b ? -1 : 1));
  return keys.map((key) => `${key}=${goQuote(map[key] ?? '')}`).join('\n');
}
