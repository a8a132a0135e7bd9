/** Reads manifests: YAML or JSON, one document or several, each a v1 Pod or a list of them. */
import { asInt64, MAY_EXCEED_INT64 } from '../../policies/formats/go-text.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { ObjectMeta, Pod } from '../../../types/kubernetes.ts';
import {
  BoundedCopy,
  MANIFEST_BYTES_MAX,
  ManifestLimitError,
  PODS_MAX,
  podSizeProblem,
} from './manifest-limits.ts';
import { parseYaml, YamlSyntaxError } from './manifest-yaml.ts';
import { isTree, type Tree } from '../rules/place.ts';
import { kindOf, shown } from '../rules/schema-problems.ts';
import type { ManifestOrigin, ManifestProblem } from '../source.ts';
import { podProblems } from '../rules/validate-pod.ts';

const PROBLEMS_SHOWN_MAX = 10;

/** A valid pod as the manifest has it, without any defaults. */
export type ManifestPod = Omit<Pod, 'metadata'> & {
  readonly metadata: ObjectMeta & { readonly name: string };
};

/** A manifest with a problem has no pods: a part of it is not what its author wanted. */
export interface Manifest {
  readonly pods: readonly ManifestPod[];
  readonly problems: readonly ManifestProblem[];
}

/** Whose pods these are: there are further rules for static pods, and others for ordinary ones. */
export type ManifestKind = Pick<ManifestOrigin, 'source' | 'nodeName'>;

/** Never throws. Lists at most ten problems, and counts the others. */
export function parseManifest(bytes: Uint8Array, kind: ManifestKind): Manifest {
  try {
    return readManifest(bytes, kind);
  } catch (error) {
    const reason = withoutAlias(errorMessage(error));
    const message = error instanceof ManifestLimitError ? reason : `cannot be read: ${reason}`;
    return { pods: [], problems: [{ message }] };
  }
}

/** YAML reads a text that begins with `*` and is not quoted as an alias, and its error repeats it. It may be a password. */
function withoutAlias(message: string): string {
  return message.replace(/^(Unresolved alias)\b.*$/su, '$1: a text that begins with * has to be in quotes');
}

function readManifest(bytes: Uint8Array, kind: ManifestKind): Manifest {
  const { documents, problems: syntaxProblems } = parseDocuments(bytes);
  const copy = new BoundedCopy(bytes.length);
  const entries = documents.flatMap((document, index) =>
    podEntries(copy.withoutNulls(document), documents.length > 1 ? `document ${index + 1}: ` : ''),
  );
  if (entries.length > PODS_MAX)
    throw new ManifestLimitError(
      `has ${entries.length} pods, more than ${PODS_MAX}: split it into several files`,
    );
  const problems = [...syntaxProblems, ...entries.flatMap((entry) => entryProblems(entry, kind))];
  if (problems.length > 0) return { pods: [], problems: bounded(problems) };
  return { pods: entries.map(({ pod }) => pod as ManifestPod), problems };
}

interface Parsed {
  readonly documents: readonly unknown[];
  readonly problems: readonly ManifestProblem[];
}

function broken(message: string): Parsed {
  return { documents: [], problems: [{ message }] };
}

function parseDocuments(bytes: Uint8Array): Parsed {
  if (bytes.length > MANIFEST_BYTES_MAX) return broken('is larger than 10 MiB');
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return broken('is not UTF-8 text');
  }
  return parseJson(text) ?? parseYamlDocuments(text);
}

/** Undefined when it is not JSON: the YAML parser has better messages for broken JSON. */
function parseJson(text: string): Parsed | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    return {
      documents: [MAY_EXCEED_INT64.test(text) ? withExactNumbers(text) : JSON.parse(text)],
      problems: [],
    };
  } catch {
    return undefined;
  }
}

type Reviver = (this: unknown, key: string, value: unknown) => unknown;

/** It takes several times as long as without a function for each value. */
function withExactNumbers(text: string): unknown {
  const exact = (_key: string, value: unknown, { source }: { readonly source?: string }) =>
    typeof value === 'number' ? asInt64(value, source) : value;
  // The declarations do not know the third argument.
  return JSON.parse(text, exact as Reviver);
}

function parseYamlDocuments(text: string): Parsed {
  try {
    const documents = parseYaml(text);
    return documents.length > 0 ? { documents, problems: [] } : broken('holds no pod: it is empty');
  } catch (error) {
    if (!(error instanceof YamlSyntaxError)) throw error;
    return {
      documents: [],
      problems: error.problems.map((problem) => ({ message: `is not valid YAML: ${problem}` })),
    };
  }
}

interface PodEntry {
  readonly pod: unknown;
  /** Comes before the field in problems: `document 2: items[0].`. */
  readonly prefix: string;
  readonly problems: readonly ManifestProblem[];
}

function podEntries(document: unknown, prefix: string): PodEntry[] {
  const problems = kindProblems(document);
  if (problems.length > 0 || !isTree(document) || document.kind === 'Pod')
    return [{ pod: document, prefix, problems }];
  const list: unknown = document.items ?? [];
  if (!Array.isArray(list))
    return [{ pod: undefined, prefix, problems: [{ field: 'items', message: 'must be array' }] }];
  const isPodList = document.kind === 'PodList';
  return list.map((item: unknown, index) => {
    // The items of a PodList may leave out apiVersion and kind.
    const pod = isPodList && isTree(item) ? { apiVersion: 'v1', kind: 'Pod', ...item } : item;
    return { pod, prefix: `${prefix}items[${index}].`, problems: kindProblems(pod, ['Pod']) };
  });
}

function kindProblems(object: unknown, kinds = ['Pod', 'PodList', 'List']): ManifestProblem[] {
  if (!isTree(object))
    return [
      { message: `must be an object with apiVersion, kind, metadata and spec (got ${kindOf(object)})` },
    ];
  return [
    ...wrongValue(object, 'apiVersion', ['v1']),
    ...wrongValue(object, 'kind', kinds).map((problem) =>
      object.kind === undefined
        ? problem
        : { ...problem, message: `${problem.message}; a node runs nothing but pods` },
    ),
  ];
}

function wrongValue(object: Tree, field: string, wanted: readonly string[]): ManifestProblem[] {
  const value = object[field];
  if (value === undefined) return [{ field, message: 'is required' }];
  if (wanted.some((name) => name === value)) return [];
  return [{ field, message: `must be ${wanted.join(' or ')} (got ${shown(value)})` }];
}

function entryProblems({ pod, prefix, problems }: PodEntry, kind: ManifestKind): ManifestProblem[] {
  const found = problems.length > 0 ? problems : sizeOrPodProblems(pod, kind);
  return found.map(({ field, message }) => {
    const place = field === undefined ? prefix.replace(/(?<![.: ])[.: ]+$/, '') : `${prefix}${field}`;
    return place === '' ? { message } : { field: place, message };
  });
}

function sizeOrPodProblems(pod: unknown, kind: ManifestKind): readonly ManifestProblem[] {
  const message = podSizeProblem(pod);
  return message === undefined ? podProblems(pod, kind) : [{ message }];
}

function bounded(problems: readonly ManifestProblem[]): ManifestProblem[] {
  const more = problems.length - PROBLEMS_SHOWN_MAX;
  const shown = problems.slice(0, PROBLEMS_SHOWN_MAX);
  return more > 0 ? [...shown, { message: `and ${more} more problem${more > 1 ? 's' : ''}` }] : shown;
}
