/** The pods that the API server has bound to this node. */
import { distinctUntilChanged, map, type Observable, of, switchMap } from 'rxjs';
import type { ApiServer } from '../cluster/service/api-server.ts';
import { reflect, type Reflection, type WatchTiming } from '../cluster/watches/reflect.ts';
import type { WatchedObject } from '../cluster/watches/watched-object.ts';
import { INVALID_POD_ANNOTATION } from '../policies/admission/admit-pod.ts';
import { errorMessage } from '../../types/errors.ts';
import type { Node, Pod } from '../../types/kubernetes.ts';
import { changedPart } from './changed-part.ts';
import { BoundedCopy } from './manifests/manifest-limits.ts';
import { apiPodProblems } from './rules/api-pod-rules.ts';
import { isTree } from './rules/place.ts';
import { type ManifestProblem, problemText, type SourceProblem, type SourceUpdate } from './source.ts';

export interface ApiSourceOptions extends WatchTiming {
  readonly api: ApiServer;
  readonly nodeName: string;
  /** The node's own object: no pod is accepted before the server has said whether it exists, and while it is of another machine. */
  readonly node: Observable<WatchedObject<Node>>;
}

/**
 * Emits all pods of this node after the first list and after each change. While the server does not answer, the pods stay as they
 * were last seen. Never fails, never completes.
 */
export function apiSource(options: ApiSourceOptions): Observable<SourceUpdate> {
  const { api, nodeName, node, ...timing } = options;
  const fieldSelector = `spec.nodeName=${nodeName}`;
  const pods = reflect<Pod>(api, { resource: 'pods' }, { ...timing, fieldSelector });
  return node.pipe(
    distinctUntilChanged((a, b) => a.isKnown === b.isKnown && (a.isKnown || a.problem === b.problem)),
    switchMap(({ isKnown, problem }) =>
      isKnown ? pods.pipe(map(podReader(nodeName))) : of(awaitingNode(problem)),
    ),
  );
}

function awaitingNode(problem: string | undefined): SourceUpdate {
  return { problems: sourceProblems(problem) };
}

function sourceProblems(problem: string | undefined): readonly SourceProblem[] {
  return problem === undefined ? [] : [{ source: 'api', message: problem }];
}

/** An object that did not change is not looked at again. */
function podReader(nodeName: string): (reflection: Reflection<Pod>) => SourceUpdate {
  let listed: readonly Pod[] = [];
  let reads: readonly (ReadPod | undefined)[] = [];
  return ({ objects, problem }) => {
    if (!objects) return awaitingNode(problem);
    const { start, removed, added } = changedPart(listed, objects);
    const end = start + removed.length;
    const former = new Map(removed.map((object, index) => [object, reads[start + index]]));
    const anew = readAnew(added, former, nodeName);
    listed = objects;
    reads = [...reads.slice(0, start), ...anew, ...reads.slice(end)];
    const pods: Pod[] = [];
    const problems = [...sourceProblems(problem)];
    for (const read of reads) {
      if (read?.pod) pods.push(read.pod);
      if (read && read.problems.length > 0) problems.push(...podProblems(read));
    }
    return { pods, problems };
  };
}

interface ReadPod extends ApiPod {
  readonly object: Pod;
}

/** `former`: what stood in their place. Undefined for a pod of another node. */
function readAnew(
  objects: readonly Pod[],
  former: ReadonlyMap<Pod, ReadPod | undefined>,
  nodeName: string,
): readonly (ReadPod | undefined)[] {
  const before = new Map([...former.values()].map((read) => [read?.pod?.metadata.uid, read?.pod]));
  return objects.map((object) => {
    if (isOfAnotherNode(object, nodeName)) return undefined;
    return former.get(object) ?? { object, ...apiPod(object, before.get(uidOf(object))) };
  });
}

function podProblems({ object, problems }: ReadPod): readonly SourceProblem[] {
  const { namespace, name } = (object as Partial<Pod>).metadata ?? {};
  return problems.map((problem) => ({
    source: 'api',
    file: `pod ${namespace ?? ''}/${name ?? ''}`,
    ...problem,
  }));
}

/** The API server has not been trusted with the form of its objects yet. */
function uidOf(object: Partial<Pod>): string {
  return object.metadata?.uid ?? '';
}

/** A server that ignores the field selector must not make this node reject the pods of all others. */
function isOfAnotherNode({ spec }: Partial<Pod>, nodeName: string): boolean {
  return typeof spec?.nodeName === 'string' && spec.nodeName !== '' && spec.nodeName !== nodeName;
}

const IDENTITY = ['metadata.name', 'metadata.namespace', 'metadata.uid'];

interface ApiPod {
  /** Undefined where not even its name, namespace and UID can be used. */
  readonly pod?: Pod;
  readonly problems: readonly ManifestProblem[];
}

/**
 * Checks what the API server sends as a pod, so that no other part has to. A pod that breaks the rules loses its containers and says why in
 * an annotation: it is rejected at admission, and so the API server is told. Where an earlier version of the pod was good (`before`), its
 * spec stays: what runs does not end for a broken update. A status that breaks the rules is left out. Never throws.
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
