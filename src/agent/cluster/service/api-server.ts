import type { Observable } from 'rxjs';
import type { ObjectMeta } from '../../../types/kubernetes.ts';
import type { ApiResource, Collection, ObjectReference } from './api-resources.ts';

export interface RequestOptions {
  readonly signal?: AbortSignal;
  /** Default: no limit but that of the connection. */
  readonly timeoutMs?: number;
  /** Do not wait and ask again where the server wants that (Retry-After), but fail: by then there may be something newer to send. */
  readonly isOnlyForNow?: boolean;
}

export interface Selectors {
  /** `spec.nodeName=node-1`. */
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
}

export interface ListOptions extends Selectors, RequestOptions {
  /** `0`: any version that the server has at hand. Default: the newest. */
  readonly resourceVersion?: string;
}

export interface WatchOptions extends Selectors {
  /** Only changes after this version. */
  readonly resourceVersion: string;
  /** After this time the server ends the watch. */
  readonly timeoutSeconds: number;
}

export interface DeleteOptions extends RequestOptions {
  readonly gracePeriodSeconds?: number;
  /** Precondition: an object of that name with another UID stays, and the answer is `Conflict`. */
  readonly uid?: string;
}

export interface ApiObject {
  readonly metadata?: ObjectMeta;
}

export interface ObjectList<T> {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly T[];
}

/** A BOOKMARK has only a resourceVersion. */
export interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: T;
}

/**
 * The API server as a node uses it. Every method rejects with an `ApiError` where the server refused, and with a `StateletError` of
 * kind `Unavailable`, `DeadlineExceeded` or `Canceled` where there was no answer: the request may still have been carried out.
 * There are two: `src/agent/cluster/client` speaks to a real server, `src/simulation/api` is a simulated one.
 */
export interface ApiServer {
  get<T extends ApiObject>(target: ObjectReference, options?: RequestOptions): Promise<T>;
  list<T extends ApiObject>(collection: Collection, options?: ListOptions): Promise<ObjectList<T>>;
  /**
   * Begins when it is subscribed to, ends when it is unsubscribed from. Completes when the server ends the watch, and fails as a
   * request does; an event of type ERROR is such a failure.
   */
  watch<T extends ApiObject>(collection: Collection, options: WatchOptions): Observable<WatchEvent<T>>;
  create<T extends ApiObject>(collection: Collection, object: T, options?: RequestOptions): Promise<T>;
  /** Replaces the object; with a resourceVersion only that version of it, else `Conflict`. */
  update<T extends ApiObject>(target: ObjectReference, object: T, options?: RequestOptions): Promise<T>;
  /** A strategic merge patch. */
  patch<T extends ApiObject>(target: ObjectReference, patch: object, options?: RequestOptions): Promise<T>;
  delete(target: ObjectReference, options?: DeleteOptions): Promise<void>;
}

/** Which objects a server has. */
export interface ApiDiscovery {
  /** Whether it has objects of that resource, in its version. */
  isServed(resource: ApiResource, options?: RequestOptions): Promise<boolean>;
}

/** What it takes to follow objects. */
export type ObjectReader = Pick<ApiServer, 'list' | 'watch'>;

/** Clients of one server, apart so that none waits for another. */
export interface ApiClients {
  /** Pods, node, watches: 50 requests a second, 100 in a burst, unless set otherwise. */
  readonly main: ApiServer;
  readonly events: ApiServer;
  /** The lease and the status of the node. Not limited, on a connection of its own. */
  readonly heartbeats: ApiServer;
}

/** Gets the results of requests. */
export interface ConnectionObserver {
  /** The server answered, whatever it answered. */
  answered(): void;
  /** The server does not accept the credentials (401). */
  unauthorized(problem: string): void;
  /** There was no answer. */
  failed(problem: string): void;
  /** Of each answer: by how much the clock of this machine is ahead of the server's, in milliseconds; negative: behind. 0: not seen. */
  clockDifference?(differenceMs: number): void;
}

/** What is needed to speak to a server. Secrets: never logged. */
export interface ConnectionDetails {
  /** `https://HOST:PORT`, with a path where the server has one. */
  readonly server: string;
  /** PEM. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly tlsServerName?: string;
  readonly insecureSkipTLSVerify?: boolean;
  readonly proxyURL?: string;
  /** `Authorization` and the headers of impersonation; several values are several headers of that name. */
  readonly headers: Readonly<Record<string, string | string[]>>;
}

export interface Credentials {
  /** The details as they are now. May run an exec plugin. Rejects with what is wrong. */
  current(): Promise<ConnectionDetails>;
  /** The server answered 401: what is cached (a token of an exec plugin) is not used again. */
  refused(): void;
  /** There are other credentials: connections that were made with the former ones are to be closed. */
  readonly changes: Observable<undefined>;
}
