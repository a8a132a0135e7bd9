import { sleep } from '../../system/sleep.ts';
import type { Clock, TimerHandle } from '../../types/clock.ts';
import { hasReason } from '../service/api-error.ts';
import { apiPath, type ObjectReference } from '../service/api-resources.ts';
import type { ApiObject, ApiServer } from '../service/api-server.ts';

/** Of the pods that refer to one object, all that are synced within this time share one request. */
const FRESH_MS = 5_000;
/** A pod must not wait longer for a server that does not answer: what it needs may already be on its disk. */
const READ_LIMIT_MS = 3_000;
/** The server's authorizer learns a moment later than the node that a pod was bound to the node. */
const AFTER_FORBIDDEN_MS = [100, 300, 600] as const;
const NEVER_ABORTED = new AbortController().signal;

/** Runs the request again where the server forbids it, for about a second. */
export async function despiteForbidden<T>(clock: Clock, request: () => Promise<T>): Promise<T> {
  for (const pauseMs of AFTER_FORBIDDEN_MS) {
    try {
      return await request();
    } catch (error) {
      if (!hasReason(error, 'Forbidden')) throw error;
      await sleep(clock, pauseMs, NEVER_ABORTED);
    }
  }
  return request();
}

/** Objects as the server had them some seconds ago at most. Older ones are not kept. */
export class RecentObjects {
  readonly #api: ApiServer;
  readonly #clock: Clock;
  readonly #reads = new Map<string, Promise<ApiObject | undefined>>();
  readonly #timers = new Map<string, TimerHandle>();

  constructor(api: ApiServer, clock: Clock) {
    this.#api = api;
    this.#clock = clock;
  }

  /** Undefined where there is no such object. What fails is not kept, nor that there is none: the next read asks again. */
  async get<T extends ApiObject>(reference: ObjectReference): Promise<T | undefined> {
    const key = apiPath(reference);
    const read = this.#reads.get(key) ?? this.#read(key, reference);
    return (await read) as T | undefined;
  }

  close(): void {
    for (const timer of this.#timers.values()) this.#clock.clearTimeout(timer);
    this.#timers.clear();
    this.#reads.clear();
  }

  #read(key: string, reference: ObjectReference): Promise<ApiObject | undefined> {
    const forget = () => {
      this.#timers.delete(key);
      this.#reads.delete(key);
    };
    const read = this.#ask(reference).then(
      (object) => {
        if (object === undefined) forget();
        else this.#timers.set(key, this.#clock.setTimeout(forget, FRESH_MS));
        return object;
      },
      (error: unknown) => {
        forget();
        throw error;
      },
    );
    this.#reads.set(key, read);
    return read;
  }

  async #ask(reference: ObjectReference): Promise<ApiObject | undefined> {
    const request = () => this.#api.get<ApiObject>(reference, { timeoutMs: READ_LIMIT_MS });
    try {
      return await despiteForbidden(this.#clock, request);
    } catch (error) {
      if (hasReason(error, 'NotFound')) return undefined;
      throw error;
    }
  }
}
