/** An API server that holds pods in memory, keeps a list of the requests, and fails as a test wants. */
import { type Observable, NEVER } from 'rxjs';
import { ApiError } from '../../src/agent/cluster/service/api-error.ts';
import type { ObjectReference } from '../../src/agent/cluster/service/api-resources.ts';
import type {
  ApiObject,
  ApiServer,
  DeleteOptions,
  RequestOptions,
} from '../../src/agent/cluster/service/api-server.ts';
import { applyStrategicMergePatch } from './apply-strategic-merge.ts';
import { POD_STATUS_RULES } from '../../src/agent/policies/formats/strategic-merge.ts';
import { StateletError } from '../../src/types/errors.ts';
import type { Pod, PodStatus } from '../../src/types/kubernetes.ts';

interface StatusPatch {
  readonly metadata: { readonly uid: string };
  readonly status: PodStatus;
}

export class PodServer implements ApiServer {
  /** By name. */
  readonly pods = new Map<string, Pod>();
  /** `get web`, `patch web`, `delete web`. */
  readonly requests: string[] = [];
  readonly patches: StatusPatch[] = [];
  /** Called with each request, before it is carried out: throws, or takes its time. */
  before: (request: string) => Promise<void> | void = () => undefined;

  put(pod: Pod): void {
    this.pods.set(pod.metadata.name, pod);
  }

  statusOf(name: string): PodStatus | undefined {
    return this.pods.get(name)?.status;
  }

  async get<T extends ApiObject>({ name }: ObjectReference, options?: RequestOptions): Promise<T> {
    await this.#begin(`get ${name}`, options);
    return this.#found(name) as ApiObject as T;
  }

  async patch<T extends ApiObject>(
    { name }: ObjectReference,
    patch: object,
    options?: RequestOptions,
  ): Promise<T> {
    await this.#begin(`patch ${name}`, options);
    const { metadata, status } = patch as StatusPatch;
    const pod = this.#found(name);
    if (metadata.uid !== pod.metadata.uid) throw conflict();
    this.patches.push({ metadata, status });
    const patched = { ...pod, status: applyStrategicMergePatch(pod.status ?? {}, status, POD_STATUS_RULES) };
    this.put(patched);
    return patched as ApiObject as T;
  }

  async delete({ name }: ObjectReference, options: DeleteOptions = {}): Promise<void> {
    const { uid, gracePeriodSeconds } = options;
    await this.#begin(`delete ${name}`, options);
    if (this.#found(name).metadata.uid !== uid) throw conflict();
    if (gracePeriodSeconds !== 0) throw new Error(`deleted with a grace period of ${gracePeriodSeconds} s`);
    this.pods.delete(name);
  }

  list(): never {
    throw new Error('nothing is listed here');
  }

  watch(): Observable<never> {
    return NEVER;
  }

  create(): never {
    throw new Error('nothing is created here');
  }

  update(): never {
    throw new Error('nothing is updated here');
  }

  async #begin(request: string, { signal }: RequestOptions = {}): Promise<void> {
    this.requests.push(request);
    const { promise, reject } = Promise.withResolvers<never>();
    signal?.addEventListener('abort', () => reject(new StateletError('Canceled', 'the request was aborted')));
    promise.catch(() => undefined);
    await Promise.race([promise, this.before(request)]);
  }

  #found(name: string): Pod {
    const pod = this.pods.get(name);
    if (pod === undefined)
      throw new ApiError(`pods "${name}" not found`, { status: 404, reason: 'NotFound' });
    return pod;
  }
}

function conflict(): ApiError {
  return new ApiError('the UID in the precondition does not match', { status: 409, reason: 'Conflict' });
}
