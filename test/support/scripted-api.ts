/** An API server of which a test answers each list and each watch by hand. */
import { finalize, type Observable, Subject } from 'rxjs';
import type { Collection } from '../../src/agent/cluster/service/api-resources.ts';
import type {
  ApiObject,
  ApiServer,
  ListOptions,
  ObjectList,
  WatchEvent,
  WatchOptions,
} from '../../src/agent/cluster/service/api-server.ts';

export interface ListCall {
  readonly collection: Collection;
  readonly options: ListOptions;
  answer(resourceVersion: string, ...items: readonly object[]): void;
  /** Answers with something that is no list. */
  answerWith(body: unknown): void;
  fail(error: Error): void;
}

export class WatchCall {
  readonly collection: Collection;
  readonly options: WatchOptions;
  readonly events = new Subject<WatchEvent<ApiObject>>();
  isEnded = false;

  constructor(collection: Collection, options: WatchOptions) {
    this.collection = collection;
    this.options = options;
  }

  send(type: WatchEvent<ApiObject>['type'], object: object): void {
    this.events.next({ type, object });
  }
}

/** Requests that have not been taken by the test yet wait in `lists` and `watches`. */
export class ScriptedApi implements ApiServer {
  readonly lists: ListCall[] = [];
  readonly watches: WatchCall[] = [];

  list<T extends ApiObject>(collection: Collection, options: ListOptions = {}): Promise<ObjectList<T>> {
    const { promise, resolve, reject } = Promise.withResolvers<ObjectList<T>>();
    this.lists.push({
      collection,
      options,
      answer: (resourceVersion, ...items) => resolve({ metadata: { resourceVersion }, items: items as T[] }),
      answerWith: (body) => resolve(body as ObjectList<T>),
      fail: reject,
    });
    return promise;
  }

  watch<T extends ApiObject>(collection: Collection, options: WatchOptions): Observable<WatchEvent<T>> {
    const call = new WatchCall(collection, options);
    this.watches.push(call);
    const events = call.events as unknown as Subject<WatchEvent<T>>;
    return events.pipe(finalize(() => (call.isEnded = true)));
  }

  get(): never {
    throw new Error('the test expects no get');
  }

  create(): never {
    throw new Error('the test expects no create');
  }

  update(): never {
    throw new Error('the test expects no update');
  }

  patch(): never {
    throw new Error('the test expects no patch');
  }

  delete(): never {
    throw new Error('the test expects no delete');
  }
}
