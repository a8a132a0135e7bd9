/** Where a daemon serves: at an address for clients on the network, and at a socket for the owner of its root folder. */
import { hostname } from 'node:os';
import { errorMessage } from '../types/errors.ts';
import { systemClock, Timer } from '../system/timer.ts';
import type { Logger } from '../types/logger.ts';
import { addressFile, removeAddress, writeAddress } from './address-file.ts';
import { controlSocket } from './control-socket.ts';
import { isLoopback } from './own-request.ts';
import { type ApiServer, startApiServer, startControlServer } from './http-server.ts';
import type { ApiSources } from './routes/local-routes.ts';
import type { Route } from './routes/route.ts';

export interface EndpointsOptions {
  readonly rootDir: string;
  readonly nodeName: string;
  /** Undefined: only the socket. */
  readonly address: { readonly host: string; readonly port: number } | undefined;
  readonly sources: ApiSources;
  /** What the socket serves besides. Asked for once, when a request needs it. */
  readonly nodeRoutes?: () => Promise<readonly Route[]>;
  readonly logger: Logger;
  /** The delay before a failed write into the root folder is tried again. */
  readonly retryMs?: number;
}

const RETRY_MS = 10_000;

export class Endpoints {
  /** With the port that was bound; undefined where there is only the socket. */
  readonly address: string | undefined;
  readonly #server: ApiServer | undefined;
  readonly #options: EndpointsOptions;
  readonly #socketRetry = new Timer(systemClock);
  readonly #addressRetry = new Timer(systemClock);
  #closeSocket: (() => Promise<void>) | undefined;
  #isClosed = false;

  private constructor(server: ApiServer | undefined, options: EndpointsOptions) {
    this.#server = server;
    this.address = server?.address;
    this.#options = options;
  }

  /**
   * Rejects with `FailedPrecondition` when the port cannot be bound. When socket or address file cannot be made, because the
   * disk is full or read-only, that is a warning: the daemon can do without them.
   */
  static async open(options: EndpointsOptions): Promise<Endpoints> {
    const { rootDir, nodeName, address, sources, logger } = options;
    const names = [nodeName, hostname()];
    const server = address && (await startApiServer({ ...address, names }, sources));
    if (server && !isLoopback(address.host)) logger.warn({}, openWarning(server.address));
    const endpoints = new Endpoints(server, options);
    await endpoints.#make(controlSocket(rootDir), endpoints.#socketRetry, () => endpoints.#listen());
    if (server)
      await endpoints.#make(addressFile(rootDir), endpoints.#addressRetry, () =>
        endpoints.#write(server.address),
      );
    return endpoints;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socketRetry.disarm();
    this.#addressRetry.disarm();
    await removeAddress(this.#options.rootDir).catch(() => undefined);
    await Promise.all([this.#server?.close(), this.#closeSocket?.()]);
  }

  async #listen(): Promise<void> {
    const { rootDir, sources, nodeRoutes } = this.#options;
    const closeSocket = await startControlServer(rootDir, sources, nodeRoutes);
    if (this.#isClosed) await closeSocket();
    else this.#closeSocket = closeSocket;
  }

  async #write(address: string): Promise<void> {
    if (!this.#isClosed) await writeAddress(this.#options.rootDir, address);
  }

  /** Tries until it succeeds. Resolves after the first attempt. */
  async #make(file: string, retry: Timer, work: () => Promise<void>, isFirst = true): Promise<void> {
    const { logger, retryMs = RETRY_MS } = this.#options;
    try {
      await work();
    } catch (error) {
      if (this.#isClosed) return;
      if (isFirst) logger.warn({}, `${file} cannot be made, and is tried again: ${errorMessage(error)}`);
      retry.arm(retryMs, () => void this.#make(file, retry, work, false));
    }
  }
}

function openWarning(address: string): string {
  return (
    `anyone who can reach ${address} may read the pods, their resource usage and the eviction order, without a password; ` +
    'values of environment variables are left out. --healthz-bind-address 127.0.0.1 limits it to this machine'
  );
}
