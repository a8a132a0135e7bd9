import { NEVER, type Observable } from 'rxjs';
import { ApiError } from '../../src/agent/cluster/service/api-error.ts';
import {
  apiPath,
  type Collection,
  type ObjectReference,
} from '../../src/agent/cluster/service/api-resources.ts';
import type {
  ApiObject,
  ApiServer,
  DeleteOptions,
  ObjectList,
  RequestOptions,
  WatchEvent,
} from '../../src/agent/cluster/service/api-server.ts';
import { StateletError } from '../../src/types/errors.ts';

export interface ApiRequest {
  readonly verb: 'get' | 'list' | 'create' | 'update' | 'patch' | 'delete';
  readonly path: string;
  readonly body?: unknown;
  readonly options?: Pick<DeleteOptions, 'gracePeriodSeconds' | 'uid'>;
}

/** An API server that notes all requests, and answers each with the value, error or promise of the test. */
export class ScriptedApi implements ApiServer {
  readonly requests: ApiRequest[] = [];
  /** By default the server answers with the object that it got. */
  answer: (request: ApiRequest, signal?: AbortSignal) => unknown = ({ body }) => body ?? {};

  /** `POST /api/v1/namespaces/default/pods` as `create /…/pods`, for comparisons. Forgets the requests. */
  taken(): string[] {
    return this.requests
      .splice(0)
      .map(({ verb, path }) => `${verb} ${path.replace('/api/v1/namespaces', '')}`);
  }

  get<T extends ApiObject>(target: ObjectReference): Promise<T> {
    return this.#ask({ verb: 'get', path: apiPath(target) });
  }

  list<T extends ApiObject>(collection: Collection): Promise<ObjectList<T>> {
    return this.#ask({ verb: 'list', path: apiPath(collection) });
  }

  watch<T extends ApiObject>(): Observable<WatchEvent<T>> {
    return NEVER;
  }

  create<T extends ApiObject>(collection: Collection, body: T, options?: RequestOptions): Promise<T> {
    return this.#ask({ verb: 'create', path: apiPath(collection), body }, options);
  }

  update<T extends ApiObject>(target: ObjectReference, body: T): Promise<T> {
    return this.#ask({ verb: 'update', path: apiPath(target), body });
  }

  patch<T extends ApiObject>(target: ObjectReference, body: object): Promise<T> {
    return this.#ask({ verb: 'patch', path: apiPath(target), body });
  }

  async delete(target: ObjectReference, options: DeleteOptions = {}): Promise<void> {
    const { gracePeriodSeconds, uid } = options;
    const asked = {
      ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
      ...(uid !== undefined && { uid }),
    };
    await this.#ask({ verb: 'delete', path: apiPath(target), options: asked });
  }

  async #ask<T>(request: ApiRequest, options?: RequestOptions): Promise<T> {
    this.requests.push(request);
    return (await this.answer(request, options?.signal)) as T;
  }
}

const STATUSES: Readonly<Record<string, number>> = {
  Forbidden: 403,
  NotFound: 404,
  AlreadyExists: 409,
  Conflict: 409,
  Invalid: 422,
  TooManyRequests: 429,
  InternalError: 500,
};

/** The server refuses a request for this reason. */
export function refusal(reason: string): ApiError {
  return new ApiError(`refused: ${reason}`, { status: STATUSES[reason] ?? 400, reason });
}

/** The server does not answer. */
export function noAnswer(): StateletError {
  return new StateletError('Unavailable', 'connect ECONNREFUSED');
}
