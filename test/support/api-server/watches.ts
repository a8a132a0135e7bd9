/** Watches: the events of a collection since a version, as lines of JSON, with bookmarks and an end. */
import type { StoredChange, StoredObject } from '../../../src/simulation/api/api-store.ts';
import type { Store } from './context.ts';
import { listOptions, notParsed } from './list-options.ts';
import { listPart } from './lists.ts';
import { isTrue, type ResourceRequest } from './requests.ts';
import { selected, type ObjectTest } from './selectors.ts';
import { apiVersionOf, storeKey } from './served-types.ts';
import { expired, StatusError, tooLargeVersion } from './status-error.ts';

/** Where a watch writes its lines. */
export interface WatchSink {
  /** False: more is waiting to be sent than the server keeps for a client. */
  write(line: string): boolean;
  end(): void;
}

export interface WatchOptions {
  readonly store: Store;
  readonly request: ResourceRequest;
  readonly sink: WatchSink;
  /** The object as the client wants it: with its kind, or as a row of a table. */
  readonly serve: (object: StoredObject) => object;
}

const BOOKMARK_PERIOD_MS = 60_000;
/** A bookmark comes this long before the end of a watch, so that the next one begins there. */
const BEFORE_END_MS = 2_000;
const TIMEOUT_SECONDS_MIN = 1800;
const INITIAL_END = { 'k8s.io/initial-events-end': 'true' };

/** Begins the watch. Returns the function that ends it. Throws the server's answer to a watch that cannot begin. */
export function beginWatch(options: WatchOptions): () => void {
  const { store, request } = options;
  const { query } = request;
  const { version } = listOptions(query, request.type, true);
  if (!/^\d*$/u.test(version)) throw new StatusError(500, '', notParsed(version));
  const since = Number(version);
  if (since > store.version) throw tooLargeVersion(since, store.version);
  const isFromStart = since === 0;
  const sendsInitial = isTrue(query.get('sendInitialEvents'));
  if (!isFromStart && !sendsInitial && since < store.compacted) throw expired(since, store.compacted);
  return new Watch(options, isFromStart || sendsInitial ? undefined : since).begin(sendsInitial);
}

class Watch {
  readonly #options: WatchOptions;
  readonly #since: number | undefined;
  readonly #key: string;
  readonly #isSelected: ObjectTest;
  readonly #ends: (() => void)[] = [];
  #isOver = false;

  constructor(options: WatchOptions, since: number | undefined) {
    this.#options = options;
    this.#since = since;
    const { type, query } = options.request;
    this.#key = storeKey(type);
    this.#isSelected = selected(query.get('labelSelector'), query.get('fieldSelector'), type);
  }

  begin(sendsInitial: boolean): () => void {
    const { store, request } = this.#options;
    const { query } = request;
    if (this.#since === undefined) {
      const whole = { ...request, query: new URLSearchParams(query) };
      for (const name of [
        'limit',
        'continue',
        'resourceVersion',
        'resourceVersionMatch',
        'sendInitialEvents',
      ])
        whole.query.delete(name);
      for (const object of listPart(store, whole).items) this.#send('ADDED', object);
      if (sendsInitial) this.#bookmark(INITIAL_END);
    } else for (const change of store.changesSince(this.#since)) this.#take(change);
    const subscription = store.changes.subscribe((change) => this.#take(change));
    this.#ends.push(() => subscription.unsubscribe());
    const seconds = Number(query.get('timeoutSeconds') ?? TIMEOUT_SECONDS_MIN) || TIMEOUT_SECONDS_MIN;
    this.#after(seconds * 1000, () => this.#complete());
    if (isTrue(query.get('allowWatchBookmarks'))) {
      const timer = setInterval(() => this.#bookmark(), BOOKMARK_PERIOD_MS);
      this.#ends.push(() => clearInterval(timer));
      if (seconds * 1000 > BEFORE_END_MS) this.#after(seconds * 1000 - BEFORE_END_MS, () => this.#bookmark());
    }
    return () => this.#stop();
  }

  #after(delayMs: number, next: () => void): void {
    const timer = setTimeout(next, delayMs);
    this.#ends.push(() => clearTimeout(timer));
  }

  /** Objects that begin to match are added for this client, and those that cease to match are gone. */
  #take({ resource, before, after, version }: StoredChange<string>): void {
    if (resource !== this.#key) return;
    const isSeen = after !== undefined && this.#matches(after);
    const wasSeen = before !== undefined && this.#matches(before);
    const shown = isSeen ? after : before;
    if (shown === undefined || (!isSeen && !wasSeen)) return;
    if (isSeen) this.#send(wasSeen ? 'MODIFIED' : 'ADDED', shown);
    else
      this.#send('DELETED', { ...shown, metadata: { ...shown.metadata, resourceVersion: String(version) } });
  }

  #matches(object: StoredObject): boolean {
    const { namespace } = this.#options.request;
    return (namespace === undefined || object.metadata.namespace === namespace) && this.#isSelected(object);
  }

  #bookmark(annotations?: Readonly<Record<string, string>>): void {
    const { store, request } = this.#options;
    const metadata = {
      resourceVersion: String(store.version),
      creationTimestamp: null,
      ...(annotations && { annotations }),
    };
    const object = { kind: request.type.kind, apiVersion: apiVersionOf(request.type), metadata };
    this.#write({ type: 'BOOKMARK', object });
  }

  #send(type: string, object: StoredObject): void {
    this.#write({ type, object: this.#options.serve(object) });
  }

  #write(event: object): void {
    if (this.#isOver || this.#options.sink.write(`${JSON.stringify(event)}\n`)) return;
    this.#complete();
  }

  #complete(): void {
    this.#stop();
    this.#options.sink.end();
  }

  #stop(): void {
    this.#isOver = true;
    for (const end of this.#ends.splice(0)) end();
  }
}

/** The line of a watch that has begun, but whose version is forgotten. */
export function errorLine(error: StatusError): string {
  return `${JSON.stringify({ type: 'ERROR', object: error.body })}\n`;
}
