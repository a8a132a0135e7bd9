/** The API server as one node sees it: over the connection that all nodes share, until the node dies. */
import { concat, fromEvent, NEVER, type Observable, takeUntil } from 'rxjs';
import type { Collection, ObjectReference } from '../../agent/cluster/service/api-resources.ts';
import type {
  ApiClients,
  ApiObject,
  ApiServer,
  DeleteOptions,
  ListOptions,
  ObjectList,
  ObjectReader,
  RequestOptions,
  WatchEvent,
  WatchOptions,
} from '../../agent/cluster/service/api-server.ts';
import type { RequestGate, RequestRank } from './request-gate.ts';

/** What the nodes of a process share of the API server. */
export interface SharedAccess {
  /** Answers what is listed and watched. */
  readonly watches: ObjectReader;
  readonly gate: RequestGate;
}

/** A dead node gets neither answers nor errors. */
const noAnswer = (): Promise<never> => new Promise(() => undefined);

export class NodeClient implements ApiServer {
  readonly #api: ApiServer;
  readonly #shared: SharedAccess;
  readonly #rank: RequestRank;
  readonly #cut = new AbortController();

  constructor(api: ApiServer, shared: SharedAccess, rank: RequestRank = 'main') {
    this.#api = api;
    this.#shared = shared;
    this.#rank = rank;
  }

  /** The node is dead: it sends nothing any more, and gets no answers to its requests. */
  cut(): void {
    this.#cut.abort();
  }

  get<T extends ApiObject>(target: ObjectReference, options?: RequestOptions): Promise<T> {
    return this.#whileAlive(() => this.#api.get(target, options));
  }

  list<T extends ApiObject>(collection: Collection, options?: ListOptions): Promise<ObjectList<T>> {
    return this.#whileAlive(() => this.#shared.watches.list(collection, options), false);
  }

  watch<T extends ApiObject>(collection: Collection, options: WatchOptions): Observable<WatchEvent<T>> {
    // The reader of a dead node does not get the end either.
    return concat(
      this.#shared.watches
        .watch<T>(collection, options)
        .pipe(takeUntil(fromEvent(this.#cut.signal, 'abort'))),
      NEVER,
    );
  }

  create<T extends ApiObject>(collection: Collection, object: T, options?: RequestOptions): Promise<T> {
    return this.#whileAlive(() => this.#api.create(collection, object, options));
  }

  update<T extends ApiObject>(target: ObjectReference, object: T, options?: RequestOptions): Promise<T> {
    return this.#whileAlive(() => this.#api.update(target, object, options));
  }

  patch<T extends ApiObject>(target: ObjectReference, patch: object, options?: RequestOptions): Promise<T> {
    return this.#whileAlive(() => this.#api.patch(target, patch, options));
  }

  delete(target: ObjectReference, options?: DeleteOptions): Promise<void> {
    return this.#whileAlive(() => this.#api.delete(target, options));
  }

  /** `isSent`: to the API server; what is listed is known here. */
  async #whileAlive<T>(request: () => Promise<T>, isSent = true): Promise<T> {
    const { gate } = this.#shared;
    const work = this.#isCut() ? noAnswer() : isSent ? gate.pass(this.#rank, request) : request();
    try {
      return await work;
    } catch (error) {
      if (this.#isCut()) return await noAnswer();
      throw error;
    } finally {
      if (this.#isCut()) await noAnswer();
    }
  }

  #isCut(): boolean {
    return this.#cut.signal.aborted;
  }
}

/** All of them are cut at once. */
export class NodeClients extends NodeClient {
  readonly clients: ApiClients;
  readonly #others: readonly NodeClient[];

  constructor({ main, events, heartbeats }: ApiClients, shared: SharedAccess) {
    super(main, shared);
    const others = {
      events: new NodeClient(events, shared, 'event'),
      heartbeats: new NodeClient(heartbeats, shared, 'heartbeat'),
    };
    this.#others = Object.values(others);
    this.clients = { main: this, ...others };
  }

  override cut(): void {
    super.cut();
    for (const other of this.#others) other.cut();
  }
}
