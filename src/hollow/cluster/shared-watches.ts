/** What the nodes of one process read of the API server: one watch for all their pods, one for their Node objects, one for each other set. */
import { finalize, type Observable } from 'rxjs';
import type { Collection } from '../../agent/cluster/service/api-resources.ts';
import type {
  ApiObject,
  ApiServer,
  ListOptions,
  ObjectList,
  ObjectReader,
  Selectors,
  WatchEvent,
  WatchOptions,
} from '../../agent/cluster/service/api-server.ts';
import { reflect, type WatchTiming } from '../../agent/cluster/watches/reflect.ts';
import { Timer } from '../../system/timer.ts';
import { unlessAborted } from '../../system/promises.ts';
import { SharedCollection } from './shared-collection.ts';

/** A set that no node has read for so long is not watched any more. */
const LINGER_MS = 60_000;
const POD_OF_NODE = /^spec\.nodeName=(.+)$/u;
const NODE_OF_NAME = /^metadata\.name=(.+)$/u;
/** As an agent asks for the slices of its node, of one driver or of all. */
const SLICES_OF_NODE = /^spec\.nodeName=([^,]+)(?:,spec\.driver=(.+))?$/u;
/** Pods that are bound to some node. */
const BOUND = 'spec.nodeName!=';

/** A pod or a ResourceSlice, as far as its node is concerned. */
interface Bound extends ApiObject {
  readonly spec?: { readonly nodeName?: string; readonly driver?: string };
}

export interface SharedWatchesParts {
  readonly api: ApiServer;
  /** Whether a node of that name is one of this process. */
  readonly isOwn: (nodeName: string) => boolean;
}

interface Shared {
  readonly collection: SharedCollection<ApiObject>;
  readonly linger: Timer;
}

/** Which shared set a node reads from, and which part of it is its own. */
interface Place extends Selectors {
  readonly key: string;
  readonly reader: string;
  readonly readerOf: (object: ApiObject) => string | undefined;
  /** Which of its objects the reader wants in a list. Undefined: all. */
  readonly isListed?: (object: Bound) => boolean;
}

export class SharedWatches implements ObjectReader {
  readonly #timing: WatchTiming;
  readonly #parts: SharedWatchesParts;
  readonly #shared = new Map<string, Shared>();

  constructor(timing: WatchTiming, parts: SharedWatchesParts) {
    this.#timing = timing;
    this.#parts = parts;
  }

  async list<T extends ApiObject>(collection: Collection, options: ListOptions = {}): Promise<ObjectList<T>> {
    const place = this.#placeOf(collection, options);
    const listed = this.#open(collection, place).collection.list(place.reader);
    const { signal } = options;
    const list = await (signal ? unlessAborted(listed, signal) : listed);
    const { isListed } = place;
    return (isListed ? { ...list, items: list.items.filter(isListed) } : list) as ObjectList<T>;
  }

  watch<T extends ApiObject>(collection: Collection, options: WatchOptions): Observable<WatchEvent<T>> {
    const place = this.#placeOf(collection, options);
    const shared = this.#open(collection, place);
    const events = shared.collection.watch(place.reader, options) as Observable<WatchEvent<T>>;
    return events.pipe(finalize(() => this.#left(place.key, shared)));
  }

  close(): void {
    for (const { collection, linger } of this.#shared.values()) {
      linger.disarm();
      collection.close();
    }
    this.#shared.clear();
  }

  #placeOf({ resource, namespace = '', version = '' }: Collection, selectors: Selectors): Place {
    const { fieldSelector = '', labelSelector } = selectors;
    const { isOwn } = this.#parts;
    const own = (name: string | undefined) => (name !== undefined && isOwn(name) ? name : undefined);
    const [, ofNode] = (resource === 'pods' ? POD_OF_NODE.exec(fieldSelector) : undefined) ?? [];
    if (ofNode !== undefined) {
      const readerOf = ({ spec }: Bound) => own(spec?.nodeName);
      return { key: 'pods', reader: ofNode, readerOf, fieldSelector: BOUND };
    }
    const [, name] = (resource === 'nodes' ? NODE_OF_NAME.exec(fieldSelector) : undefined) ?? [];
    if (name !== undefined)
      return { key: 'nodes', reader: name, readerOf: ({ metadata }) => own(metadata?.name) };
    const [, node, driver] =
      (resource === 'resourceslices' ? SLICES_OF_NODE.exec(fieldSelector) : undefined) ?? [];
    if (node !== undefined)
      return {
        key: resource,
        reader: node,
        readerOf: ({ spec }: Bound) => own(spec?.nodeName),
        ...(driver !== undefined && { isListed: ({ spec }: Bound) => spec?.driver === driver }),
      };
    const key = [resource, namespace, version, fieldSelector, labelSelector].join(' ');
    return { key, reader: '', readerOf: () => '', ...selectors };
  }

  #open(collection: Collection, { key, readerOf, fieldSelector, labelSelector }: Place): Shared {
    const known = this.#shared.get(key);
    if (known !== undefined) return known;
    const selectors = { ...(fieldSelector && { fieldSelector }), ...(labelSelector && { labelSelector }) };
    const open = (store: SharedCollection<ApiObject>) =>
      reflect(this.#parts.api, collection, { ...this.#timing, ...selectors, store });
    const shared = {
      collection: new SharedCollection({ open, readerOf }),
      linger: new Timer(this.#timing.clock),
    };
    this.#shared.set(key, shared);
    return shared;
  }

  #left(key: string, { collection, linger }: Shared): void {
    if (collection.readers > 0) return;
    linger.arm(LINGER_MS, () => {
      if (collection.readers > 0) return;
      this.#shared.delete(key);
      collection.close();
    });
  }
}
