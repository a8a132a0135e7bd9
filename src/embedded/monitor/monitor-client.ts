import { setTimeout as delay } from 'node:timers/promises';
import { Observable, Subject } from 'rxjs';
import { errorKind, errorMessage, StateletError } from '../../types/errors.ts';
import { systemClock, withDeadline } from '../../system/timer.ts';
import type { ContainerEvent, ContainerEventType, ContainerStateName } from '../../types/cri.ts';
import { canceled, Connection, HELLO_TIMEOUT_MS } from './connection.ts';
import type { RuntimeLayout } from '../layout.ts';
import type { Finding } from './findings.ts';
import type { Feature, MethodName, Params, Result } from './protocol.ts';
import { connectSocket } from './monitor-socket.ts';
import { makeRuntimeDir, spawnMonitor } from './spawn-monitor.ts';
import { NEVER_ABORTED } from '../../system/promises.ts';

const ATTEMPTS = 5;
const MAX_RECONNECT_DELAY_MS = 5000;

/** Calls that are repeated once if the monitor ends during the call: a second one does no harm. */
const REPEATABLE: ReadonlySet<MethodName> = new Set<MethodName>([
  'stopPodSandbox',
  'removePodSandbox',
  'podSandboxStatus',
  'listPodSandbox',
  'stopContainer',
  'removeContainer',
  'listContainers',
  'containerStatus',
  'listContainerStats',
  'reopenContainerLog',
  'ping',
]);

const EVENT_OF_STATE: Partial<Record<ContainerStateName, ContainerEventType>> = {
  CONTAINER_CREATED: 'CONTAINER_CREATED_EVENT',
  CONTAINER_RUNNING: 'CONTAINER_STARTED_EVENT',
  CONTAINER_EXITED: 'CONTAINER_STOPPED_EVENT',
};

export interface MonitorClientOptions {
  /** The time limit of a call that does not set its own. */
  readonly requestTimeoutMs: number;
  readonly warn: (message: string) => void;
  /** Called with each thing that a monitor has found damaged at its start. */
  readonly onFinding?: (finding: Finding) => void;
}

interface MonitorCallOptions {
  readonly signal?: AbortSignal | undefined;
  /** 0: no limit. */
  readonly timeoutMs?: number;
}

/** Calls the monitor of a root directory, and starts one if there is none. */
export class MonitorClient {
  /** Never fails. While it has a subscriber, the client reconnects when the connection ends. */
  readonly events: Observable<ContainerEvent>;
  readonly #events = new Subject<ContainerEvent>();
  readonly #layout: RuntimeLayout;
  readonly #options: MonitorClientOptions;
  #listeners = 0;
  #connection: Promise<Connection> | undefined;
  readonly #closed = new AbortController();

  constructor(layout: RuntimeLayout, options: MonitorClientOptions) {
    this.#layout = layout;
    this.#options = options;
    this.events = new Observable((subscriber) => {
      const subscription = this.#events.subscribe(subscriber);
      this.#listeners += 1;
      void this.#keepConnected();
      return () => {
        this.#listeners -= 1;
        subscription.unsubscribe();
      };
    });
  }

  /** Fails with DeadlineExceeded if the monitor hangs. The monitor may still carry the call out once it goes on. */
  async call<M extends MethodName>(
    method: M,
    params: Params<M>,
    { signal, timeoutMs = this.#options.requestTimeoutMs }: MonitorCallOptions = {},
  ): Promise<Result<M>> {
    if (signal?.aborted) throw canceled(method);
    const given = signal ?? NEVER_ABORTED;
    return withDeadline(systemClock, timeoutMs, given, async (limited) => {
      try {
        return await this.#callAgain(method, params, limited);
      } catch (error) {
        throw limited.aborted && !given.aborted ? hung(this.#layout, method, timeoutMs) : error;
      }
    });
  }

  async #callAgain<M extends MethodName>(
    method: M,
    params: Params<M>,
    signal: AbortSignal,
  ): Promise<Result<M>> {
    try {
      return await this.#callOnce(method, params, signal);
    } catch (error) {
      if (errorKind(error) !== 'Unavailable' || !REPEATABLE.has(method)) throw error;
      return this.#callOnce(method, params, signal);
    }
  }

  /** Whether the monitor has the feature: it may be older than this client. */
  async has(feature: Feature): Promise<boolean> {
    const { features = [] } = await (await this.#connect()).hello;
    return features.includes(feature);
  }

  async close(): Promise<void> {
    this.#closed.abort();
    this.#events.complete();
    const connection = await this.#connection?.catch(() => undefined);
    await connection?.close();
  }

  async #callOnce<M extends MethodName>(
    method: M,
    params: Params<M>,
    signal: AbortSignal,
  ): Promise<Result<M>> {
    if (this.#closed.signal.aborted) throw new StateletError('FailedPrecondition', 'the runtime was closed');
    if (signal.aborted) throw canceled(method);
    const connection = await orCanceled(this.#connect(), method, signal);
    return connection.call(method, params, signal);
  }

  /** All callers share one connection, and one attempt to connect. */
  #connect(): Promise<Connection> {
    if (this.#connection) return this.#connection;
    const connection = this.#open(() => this.#lost(connection));
    this.#connection = connection;
    connection.catch(() => this.#forget(connection));
    return connection;
  }

  async #open(onClose: () => void): Promise<Connection> {
    makeRuntimeDir(this.#layout);
    for (let attempt = 1; ; attempt++) {
      try {
        const socket = await connectSocket(this.#layout.runtimeDir);
        const connection = new Connection(socket, (event) => this.#events.next(event));
        await connection.hello.catch(async (error: unknown) => {
          await connection.close();
          throw error;
        });
        void connection.closed.then(onClose);
        void this.#takeFindings(connection);
        return connection;
      } catch (error) {
        // It hangs: another monitor could not take the folder over.
        if (errorKind(error) === 'DeadlineExceeded')
          throw hung(this.#layout, 'the connection', HELLO_TIMEOUT_MS);
        // Unavailable: there is no monitor, or it is just ending.
        if (error instanceof StateletError && error.kind !== 'Unavailable') throw error;
        if (attempt === ATTEMPTS) throw unavailable(this.#layout, error);
        await spawnMonitor(this.#layout);
      }
    }
  }

  /** If the connection ends meanwhile, findings of that monitor are lost: its log has them. */
  async #takeFindings(connection: Connection): Promise<void> {
    const { onFinding } = this.#options;
    const { features = [] } = await connection.hello;
    if (onFinding === undefined || !features.includes('findings' satisfies Feature)) return;
    const findings = await connection.call('takeFindings', []).catch(() => []);
    for (const finding of findings) onFinding(finding);
  }

  #forget(connection: Promise<Connection>): void {
    if (this.#connection === connection) this.#connection = undefined;
  }

  #lost(connection: Promise<Connection>): void {
    this.#forget(connection);
    if (this.#closed.signal.aborted || this.#listeners === 0) return;
    void this.#keepConnected().then(() => this.#repeatStates());
  }

  async #keepConnected(): Promise<void> {
    for (let delayMs = 100; this.#listeners > 0 && !this.#closed.signal.aborted; delayMs *= 2) {
      try {
        await this.#connect();
        return;
      } catch (error) {
        this.#options.warn(errorMessage(error));
        await delay(Math.min(delayMs, MAX_RECONNECT_DELAY_MS), undefined, { ref: false });
      }
    }
  }

  /** Events of the time without a connection are lost: an event for each present state stands for them. */
  async #repeatStates(): Promise<void> {
    try {
      const sandboxes = await this.call('listPodSandbox', [{}]);
      const metadataOf = new Map(sandboxes.map(({ id, metadata }) => [id, metadata]));
      for (const { id, podSandboxId, state } of await this.call('listContainers', [{}])) {
        const podSandboxMetadata = metadataOf.get(podSandboxId);
        const containerEventType = EVENT_OF_STATE[state];
        if (!podSandboxMetadata || !containerEventType) continue;
        const createdAt = Date.now() * 1e6;
        this.#events.next({ containerId: id, containerEventType, createdAt, podSandboxMetadata });
      }
    } catch (error) {
      this.#options.warn(errorMessage(error));
    }
  }
}

function orCanceled<T>(work: Promise<T>, method: MethodName, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(canceled(method));
    signal.addEventListener('abort', onAbort, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

const hung = ({ runtimeDir }: RuntimeLayout, what: string, timeoutMs: number): StateletError =>
  new StateletError(
    'DeadlineExceeded',
    `the monitor of the embedded runtime in ${runtimeDir} has not answered ${what} within ${timeoutMs / 1000} s: ` +
      'it hangs, or was stopped (SIGSTOP)',
  );

const unavailable = ({ runtimeDir }: RuntimeLayout, cause: unknown): StateletError =>
  new StateletError('Unavailable', `no monitor answers in ${runtimeDir}: ${errorMessage(cause)}`, { cause });
