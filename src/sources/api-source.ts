/** The pods that the API server has bound to this node. */
import { distinctUntilChanged, map, type Observable, of, switchMap } from 'rxjs';
import type { ApiServer } from '../cluster/service/api-server.ts';
import { reflect, type Reflection, type WatchTiming } from '../cluster/watches/reflect.ts';
import type { WatchedObject } from '../cluster/watches/watched-object.ts';
import type { Node, Pod } from '../types/kubernetes.ts';
import { apiPod, type ApiPod } from './api-pod.ts';
import type { SourceProblem, SourceUpdate } from './source.ts';

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

/** An object that did not change is not read again. */
function podReader(nodeName: string): (reflection: Reflection<Pod>) => SourceUpdate {
  let known: ReadonlyMap<Pod, ApiPod> = new Map();
  return ({ objects, problem }) => {
    if (!objects) return awaitingNode(problem);
    const former = known;
    const next = new Map<Pod, ApiPod>();
    const pods: Pod[] = [];
    const problems = [...sourceProblems(problem)];
    for (const object of objects) {
      if (isOfAnotherNode(object, nodeName)) continue;
      const read = former.get(object) ?? apiPod(object, podOf(uidOf(object), former.values()));
      next.set(object, read);
      if (read.pod) pods.push(read.pod);
      if (read.problems.length > 0) problems.push(...podProblems([object, read]));
    }
    known = next;
    return { pods, problems };
  };
}

function podOf(uid: string, known: Iterable<ApiPod>): Pod | undefined {
  for (const { pod } of known) if (pod?.metadata.uid === uid) return pod;
  return undefined;
}

function podProblems([object, { problems }]: readonly [Pod, ApiPod]): readonly SourceProblem[] {
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
