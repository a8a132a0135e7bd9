/** An API server with nothing but certificate signing requests. Tests decide about each. */
import { Observable, Subject } from 'rxjs';
import type { ApiServer, WatchEvent } from '../../src/agent/cluster/service/api-server.ts';
import { ApiError } from '../../src/agent/cluster/service/api-error.ts';
import type { CertificateSigningRequest } from '../../src/types/kubernetes.ts';
import { type CertificateOptions, TestAuthority } from './certificate-authority.ts';

type Request = CertificateSigningRequest;

/** A creation that has not been answered. */
interface PendingCreation {
  readonly object: Request;
  readonly resolve: (object: Request) => void;
  readonly reject: (error: Error) => void;
}

export class CertificateServer {
  readonly authority = new TestAuthority();
  readonly requests = new Map<string, Request>();
  readonly #pending: PendingCreation[] = [];
  readonly #events = new Subject<WatchEvent<Request>>();
  #watches = 0;
  #made = 0;

  /** How many creations wait for an answer. */
  get pending(): number {
    return this.#pending.length;
  }

  /** How many watches are under way. */
  get watches(): number {
    return this.#watches;
  }

  get api(): ApiServer {
    const unused = () => Promise.reject(new Error('not for certificates'));
    const api = {
      create: (_collection: unknown, object: Request) =>
        new Promise<Request>((resolve, reject) => this.#pending.push({ object, resolve, reject })),
      get: ({ name }: { readonly name: string }) => this.#get(name),
      watch: () => this.#watch(),
      list: unused,
      update: unused,
      patch: unused,
      delete: unused,
    };
    return api as unknown as ApiServer;
  }

  /** Answers the oldest creation. Returns the name of the request. */
  accept(): string {
    const { object, resolve, reject } = this.#take();
    const name = object.metadata?.name ?? `csr-${(this.#made += 1)}`;
    if (this.requests.has(name)) {
      reject(new ApiError(`${name} already exists`, { status: 409, reason: 'AlreadyExists' }));
      return name;
    }
    const made = { ...object, metadata: { name, uid: `uid of ${name}`, resourceVersion: '1' } };
    this.requests.set(name, made);
    resolve(made);
    return name;
  }

  fail(error: Error): void {
    this.#take().reject(error);
  }

  issue(name: string, options?: CertificateOptions): void {
    const { request } = this.requests.get(name)!.spec;
    const cert = this.authority.answer(Buffer.from(request, 'base64').toString(), options);
    const certificate = Buffer.from(cert).toString('base64');
    this.change(name, { conditions: [{ type: 'Approved', status: 'True' }], certificate });
  }

  deny(name: string): void {
    this.change(name, {
      conditions: [{ type: 'Denied', status: 'True', reason: 'Unknown', message: 'who is it?' }],
    });
  }

  change(name: string, status: NonNullable<Request['status']>): void {
    const object = { ...this.requests.get(name)!, status };
    this.requests.set(name, object);
    this.#events.next({ type: 'MODIFIED', object });
  }

  remove(name: string): void {
    const object = this.requests.get(name)!;
    this.requests.delete(name);
    this.#events.next({ type: 'DELETED', object });
  }

  #take(): PendingCreation {
    const pending = this.#pending.shift();
    if (pending === undefined) throw new Error('no request has been made');
    return pending;
  }

  #get(name: string): Promise<Request> {
    const object = this.requests.get(name);
    if (object !== undefined) return Promise.resolve(object);
    return Promise.reject(new ApiError(`${name} not found`, { status: 404, reason: 'NotFound' }));
  }

  #watch(): Observable<WatchEvent<Request>> {
    return new Observable((subscriber) => {
      this.#watches += 1;
      const subscription = this.#events.subscribe(subscriber);
      return () => {
        this.#watches -= 1;
        subscription.unsubscribe();
      };
    });
  }
}
