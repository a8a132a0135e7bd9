/** Reads manifests: YAML or JSON, one document or several, each a pod, an object that pods refer to, or a list of them. */
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
import { type ManifestDocument, documentsIn } from './manifest-documents.ts';
import { parseYaml, YamlSyntaxError } from './manifest-yaml.ts';
import { manifestObject, type ManifestObject, type ObjectDocument } from '../objects/manifest-object.ts';
import { objectProblems } from '../rules/object-rules.ts';
import type { Tree } from '../rules/place.ts';
import type { ManifestOrigin, ManifestProblem } from '../source.ts';
import { podProblems } from '../rules/validate-pod.ts';

const PROBLEMS_SHOWN_MAX = 10;

/** A valid pod as the manifest has it, without any defaults. */
export type ManifestPod = Omit<Pod, 'metadata'> & {
  readonly metadata: ObjectMeta & { readonly name: string };
};

/**
 * A manifest with a problem has nothing: a part of it is not what its author wanted. Documents of kinds that have no effect here are
 * left out, and its others count.
 */
export interface Manifest {
  readonly pods: readonly ManifestPod[];
  readonly objects: readonly ManifestObject[];
  readonly problems: readonly ManifestProblem[];
  /** Nothing of it counts: its last good version is used. */
  readonly isBroken: boolean;
  /** The manifest as it may be kept elsewhere on the disk; undefined where it has no Secrets. */
  readonly withoutSecrets?: string;
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
    return withoutAny([{ message }]);
  }
}

/** YAML reads a text that begins with `*` and is not quoted as an alias, and its error repeats it. It may be a password. */
function withoutAlias(message: string): string {
  return message.replace(/^(Unresolved alias)\b.*$/su, '$1: a text that begins with * has to be in quotes');
}

function readManifest(bytes: Uint8Array, kind: ManifestKind): Manifest {
  const { documents: values, problems: syntaxProblems } = parseDocuments(bytes);
  const copy = new BoundedCopy(bytes.length);
  const documents = values.flatMap((value, index) =>
    documentsIn(copy.withoutNulls(value), values.length > 1 ? `document ${index + 1}: ` : '', kind.source),
  );
  if (documents.length > PODS_MAX)
    throw new ManifestLimitError(
      `has ${documents.length} pods and objects, more than ${PODS_MAX}: split it into several files`,
    );
  const problems = [...syntaxProblems, ...documents.flatMap((document) => documentProblems(document, kind))];
  if (problems.some(({ leavesOut }) => !leavesOut)) return withoutAny(problems);
  return manifestOf(documents, problems);
}

function withoutAny(problems: readonly ManifestProblem[]): Manifest {
  return { pods: [], objects: [], problems: bounded(problems), isBroken: true };
}

function manifestOf(documents: readonly ManifestDocument[], problems: readonly ManifestProblem[]): Manifest {
  const counting = documents.filter(({ kind }) => kind !== undefined);
  const hasSecrets = counting.some(({ kind }) => kind === 'Secret');
  return {
    pods: counting.flatMap(({ kind, value }) => (kind === 'Pod' ? [value as ManifestPod] : [])),
    objects: counting.flatMap(({ kind, value }) =>
      kind === undefined || kind === 'Pod' ? [] : [manifestObject(kind, value as ObjectDocument)],
    ),
    problems: bounded(problems),
    isBroken: problems.length > 0 && counting.length === 0,
    ...(hasSecrets && { withoutSecrets: listWithoutSecrets(counting) }),
  };
}

function listWithoutSecrets(documents: readonly ManifestDocument[]): string {
  const items = documents.flatMap(({ kind, value }) => (kind === 'Secret' ? [] : [value]));
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
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

function documentProblems(document: ManifestDocument, kind: ManifestKind): ManifestProblem[] {
  const { prefix, problems } = document;
  const found = problems.length > 0 ? problems : ownProblems(document, kind);
  return found.map(({ field, ...problem }) => {
    const place = field === undefined ? prefix.replace(/(?<![.: ])[.: ]+$/, '') : `${prefix}${field}`;
    return place === '' ? problem : { field: place, ...problem };
  });
}

function ownProblems({ kind: own, value }: ManifestDocument, kind: ManifestKind): readonly ManifestProblem[] {
  if (own !== undefined && own !== 'Pod') return objectProblems(own, value as Tree);
  return sizeOrPodProblems(value, kind);
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
