import type { Subscription } from 'rxjs';
import type { ApiResource } from '../../agent/cluster/service/api-resources.ts';
import type { ApiObject, ApiServer } from '../../agent/cluster/service/api-server.ts';
import { keyOf } from '../../agent/cluster/watches/object-store.ts';
import { reflect, type WatchContext } from '../../agent/cluster/watches/reflect.ts';

/** Keeps by itself what it needs of objects. Keys are namespace and name, as of `keyOf`. */
export interface ObjectTaker<T> {
  /** The object is new, has changed, or is seen once more. */
  take(object: T): void;
  forget(key: string): void;
  /** Those that have to be forgotten once they are gone. */
  known(): Iterable<string>;
}

/** Hands on all objects of a kind, and keeps none. */
export function followObjects<T extends ApiObject>(
  context: WatchContext,
  api: ApiServer,
  resource: ApiResource,
  taker: ObjectTaker<T>,
): Subscription {
  return reflect<T>(
    api,
    { resource },
    {
      ...context,
      store: {
        objects: [],
        replace: ({ items }) => {
          const listed = new Set(items.map(keyOf));
          for (const key of [...taker.known()]) if (!listed.has(key)) taker.forget(key);
          for (const object of items) taker.take(object);
        },
        apply: ({ type, object }) => {
          if (type === 'DELETED') taker.forget(keyOf(object));
          else if (type !== 'BOOKMARK') taker.take(object);
          return type !== 'BOOKMARK';
        },
        // An event that comes late does no harm: the object is taken once more.
        has: () => true,
      },
    },
  ).subscribe();
}
