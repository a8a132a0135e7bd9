/** One object of the API server, by its name. */
import { map, type Observable, ReplaySubject, share } from 'rxjs';
import type { Node } from '../../../types/kubernetes.ts';
import type { ObjectReference } from '../service/api-resources.ts';
import type { ApiObject, ApiServer, ObjectReader, Selectors } from '../service/api-server.ts';
import { reflect, type ReflectOptions, type WatchTiming } from './reflect.ts';

export interface WatchedObject<T> {
  /** Whether the server has said once whether the object exists. */
  readonly isKnown: boolean;
  /** As it was last seen. Undefined while it is not known or does not exist. */
  readonly object?: T;
  /** Why the object may be out of date. */
  readonly problem?: string;
}

/** Emits what is known, then each change. All subscribers share one watch. Never fails, never completes. */
export function watchObject<T extends ApiObject>(
  api: ObjectReader,
  { name, ...collection }: ObjectReference,
  options: Omit<ReflectOptions<T>, keyof Selectors>,
): Observable<WatchedObject<T>> {
  const fieldSelector = `metadata.name=${name}`;
  return reflect<T>(api, collection, { ...options, fieldSelector }).pipe(
    map(({ objects, problem }): WatchedObject<T> => {
      const [object] = objects ?? [];
      return {
        isKnown: objects !== undefined,
        object,
        problem,
      };
    }),
    share({ connector: () => new ReplaySubject(1) }),
  );
}

export function watchNode(
  api: ApiServer,
  nodeName: string,
  timing: WatchTiming,
): Observable<WatchedObject<Node>> {
  return watchObject(api, { resource: 'nodes', name: nodeName }, timing);
}

/**
 * The node's own object. It counts as not known while it belongs to another machine of the same name, whose pods are not this one's.
 * `otherMachine` says which machine that is, or undefined.
 */
export function ofThisMachine(
  node: Observable<WatchedObject<Node>>,
  otherMachine: (object: Node) => string | undefined,
): Observable<WatchedObject<Node>> {
  return node.pipe(
    map((watched) => {
      const other = watched.object && otherMachine(watched.object);
      if (other === undefined) return watched;
      return { isKnown: false, problem: `the Node object is of another machine: ${other}` };
    }),
  );
}
