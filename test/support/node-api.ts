/** An API server for tests that has only Node objects and leases. It carries out the requests. */
import { EMPTY } from 'rxjs';
import { ApiError } from '../../src/agent/cluster/service/api-error.ts';
import {
  apiPath,
  type Collection,
  type ObjectReference,
} from '../../src/agent/cluster/service/api-resources.ts';
import type { ApiObject, ApiServer, RequestOptions } from '../../src/agent/cluster/service/api-server.ts';
import { applyStrategicMergePatch } from './apply-strategic-merge.ts';
import { NODE_RULES } from '../../src/agent/policies/formats/strategic-merge.ts';
import type { Lease, Node } from '../../src/types/kubernetes.ts';

type Verb = 'get' | 'create' | 'update' | 'patch';

export interface ApiRequest {
  /** Unix ms. */
  readonly at: number;
  readonly verb: Verb;
  /** `node`, `node/status` or `lease`. */
  readonly what: string;
  /** Of the request. */
  readonly body?: object;
  readonly timeoutMs: number | undefined;
  readonly signal: AbortSignal | undefined;
}

const REFUSALS = {
  NotFound: 404,
  AlreadyExists: 409,
  Conflict: 409,
  Forbidden: 403,
  InternalError: 500,
  TooManyRequests: 429,
} as const;

export function refusal(reason: keyof typeof REFUSALS): ApiError {
  return new ApiError(`the server says ${reason}`, { status: REFUSALS[reason], reason });
}

export class NodeApi implements ApiServer {
  readonly requests: ApiRequest[] = [];
  node: Node | undefined;
  lease: Lease | undefined;
  /** Called before each request. May throw in place of an answer; its result is ignored. */
  fault: ((request: ApiRequest) => Promise<void> | void) | undefined;
  readonly #now: () => number;
  #version = 0;
  /** The UID of the next Node object that is created. */
  nextUid: string | undefined;
  #uids = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** `get node`, `create lease`, … */
  get verbs(): readonly string[] {
    return this.requests.map(({ verb, what }) => `${verb} ${what}`);
  }

  /** Sets the Node object, as another client does. */
  putNode(node: Node): void {
    const { uid = this.nextUid ?? `uid-${(this.#uids += 1)}` } = node.metadata;
    this.node = this.#versioned({ ...node, metadata: { ...node.metadata, uid } });
  }

  /** Writes the lease, as another client does. */
  putLease(lease: Lease): void {
    this.lease = this.#versioned(lease);
  }

  async get<T extends ApiObject>(target: ObjectReference, options?: RequestOptions): Promise<T> {
    await this.#asked('get', target, undefined, options);
    return this.#existing(target) as ApiObject as T;
  }

  async create<T extends ApiObject>(collection: Collection, object: T, options?: RequestOptions): Promise<T> {
    await this.#asked('create', collection, object, options);
    if (this.#objectOf(collection) !== undefined) throw refusal('AlreadyExists');
    if (collection.resource === 'nodes') this.putNode(object as ApiObject as Node);
    else this.putLease(object);
    return this.#existing(collection) as ApiObject as T;
  }

  async update<T extends ApiObject>(
    target: ObjectReference,
    object: T,
    options?: RequestOptions,
  ): Promise<T> {
    await this.#asked('update', target, object, options);
    const { metadata } = this.#existing(target);
    if (object.metadata?.resourceVersion !== metadata?.resourceVersion) throw refusal('Conflict');
    this.putLease(object);
    return this.lease as ApiObject as T;
  }

  async patch<T extends ApiObject>(
    target: ObjectReference,
    patch: object,
    options?: RequestOptions,
  ): Promise<T> {
    await this.#asked('patch', target, patch, options);
    const { resourceVersion } = (patch as ApiObject).metadata ?? {};
    const existing = this.#existing(target);
    const isOther = resourceVersion !== undefined && resourceVersion !== existing.metadata?.resourceVersion;
    if (isOther) throw refusal('Conflict');
    const patched = applyStrategicMergePatch(existing, patch, NODE_RULES);
    this.putNode(patched as unknown as Node);
    return this.node as ApiObject as T;
  }

  list(): never {
    throw new Error('nothing lists here');
  }

  watch() {
    return EMPTY;
  }

  delete(): never {
    throw new Error('nothing deletes here');
  }

  async #asked(
    verb: Verb,
    target: Collection | ObjectReference,
    body: object | undefined,
    { timeoutMs, signal }: RequestOptions = {},
  ): Promise<void> {
    const what = { nodes: 'node', leases: 'lease' }[target.resource as 'nodes' | 'leases'];
    const isOfStatus = apiPath(target).endsWith('/status');
    const request = {
      at: this.#now(),
      verb,
      what: isOfStatus ? `${what}/status` : what,
      timeoutMs,
      signal,
      ...(body && { body }),
    };
    this.requests.push(request);
    await this.fault?.(request);
    signal?.throwIfAborted();
  }

  #objectOf({ resource }: Collection): Node | Lease | undefined {
    return resource === 'nodes' ? this.node : this.lease;
  }

  #existing(collection: Collection): Node | Lease {
    const object = this.#objectOf(collection);
    if (object === undefined) throw refusal('NotFound');
    return object;
  }

  #versioned<T extends ApiObject>(object: T): T {
    const resourceVersion = String((this.#version += 1));
    return { ...object, metadata: { ...object.metadata, resourceVersion } };
  }
}
