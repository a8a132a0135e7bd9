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
    const before = new Map([...known.values()].flatMap(({ pod }) => (pod ? [[pod.metadata.uid, pod]] : [])));
    const own = objects.filter((object) => !isOfAnotherNode(object, nodeName));
    known = new Map(
      own.map((object) => [object, known.get(object) ?? apiPod(object, before.get(uidOf(object)))]),
    );
    return {
      pods: [...known.values()].flatMap(({ pod }) => (pod ? [pod] : [])),
      problems: [...sourceProblems(problem), ...[...known].flatMap(podProblems)],
    };
  };
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
