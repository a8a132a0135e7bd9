import { map, type Observable } from 'rxjs';
import type { Node } from '../../types/kubernetes.ts';
import type { WatchedObject } from './watched-object.ts';

/**
 * The node's own object, not known as long as it is of another machine: pods that are bound to the node's name are pods of that machine
 * then. `otherMachine`: in words, if so.
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
