/** Makes sure that what the API server sends as a pod is one, so that no other part has to. */
import { INVALID_POD_ANNOTATION } from '../policies/admission/admit-pod.ts';
import { errorMessage } from '../types/errors.ts';
import type { Pod } from '../types/kubernetes.ts';
import { BoundedCopy } from './manifests/manifest-limits.ts';
import { apiPodProblems } from './rules/api-pod-rules.ts';
import { isTree } from './rules/place.ts';
import { type ManifestProblem, problemText } from './source.ts';

const IDENTITY = ['metadata.name', 'metadata.namespace', 'metadata.uid'];

export interface ApiPod {
  /** Undefined where not even its name, namespace and UID can be used. */
  readonly pod?: Pod;
  readonly problems: readonly ManifestProblem[];
}

/**
 * A pod that does not hold loses its containers and says why in an annotation: it is rejected at admission, and so the API server
 * is told. Where an earlier version of the pod held (`before`), its spec stays: what runs does not end for a broken update. A
 * status that does not hold is left out. Never throws.
 */
export function apiPod(object: unknown, before?: Pod): ApiPod {
  let value: unknown;
  let problems: readonly ManifestProblem[];
  try {
    value = new BoundedCopy(Infinity).withoutNulls(object);
    // The items of a list do not say what they are.
    if (isTree(value)) value = { apiVersion: 'v1', kind: 'Pod', ...value };
    problems = apiPodProblems(value);
  } catch (error) {
    return { problems: [{ message: errorMessage(error) }] };
  }
  if (problems.length === 0) return { pod: unmarked(value as Pod), problems };
  const broken = new Set(problems.map(({ field = '' }) => /^(metadata\.\w+|\w*)/.exec(field)?.[0] ?? ''));
  if (['', 'metadata', ...IDENTITY].some((field) => broken.has(field))) return { problems };
  return { pod: mended(value as Pod, broken, { problems, before }), problems };
}

interface Finding {
  readonly problems: readonly ManifestProblem[];
  readonly before: Pod | undefined;
}

/** `broken`: the fields that cannot be used, of metadata those below it. */
function mended(pod: Pod, broken: ReadonlySet<string>, { problems, before }: Finding): Pod {
  const { status, ...rest } = pod;
  const metadata = Object.fromEntries(
    Object.entries(pod.metadata).filter(([field]) => !broken.has(`metadata.${field}`)),
  ) as Pod['metadata'];
  const usable = { ...rest, metadata, ...(status && !broken.has('status') && { status }) };
  if (broken.size === 1 && broken.has('status')) return unmarked(usable);
  const spec = before && !isMarked(before) ? before.spec : undefined;
  return spec ? unmarked({ ...usable, spec }) : marked(usable, problems);
}

function marked(pod: Pod, problems: readonly ManifestProblem[]): Pod {
  const mark = { [INVALID_POD_ANNOTATION]: problems.map(problemText).join(', ') };
  const annotations = { ...pod.metadata.annotations, ...mark };
  return { ...pod, metadata: { ...pod.metadata, annotations }, spec: { containers: [] } };
}

function isMarked({ metadata }: Pod): boolean {
  return metadata.annotations?.[INVALID_POD_ANNOTATION] !== undefined;
}

/** Only the agent itself marks pods. */
function unmarked(pod: Pod): Pod {
  if (!isMarked(pod)) return pod;
  const others = Object.entries(pod.metadata.annotations ?? {}).filter(
    ([key]) => key !== INVALID_POD_ANNOTATION,
  );
  return { ...pod, metadata: { ...pod.metadata, annotations: Object.fromEntries(others) } };
}
