/** Where a daemon answers: at an address for everybody who reaches it, and at a socket for the owner of its root folder. */
import { hostname } from 'node:os';
import { errorMessage } from '../types/errors.ts';
import type { Logger } from '../types/logger.ts';
import { addressFile, removeAddress, writeAddress } from './address-file.ts';
import { controlSocket } from './control-socket.ts';
import { isLoopback } from './own-request.ts';
import { type ApiServer, type ApiSources, startApiServer, startControlServer } from './http-server.ts';

export interface EndpointsOptions {
  readonly rootDir: string;
  readonly nodeName: string;
  /** Undefined: only the socket. */
  readonly address: { readonly host: string; readonly port: number } | undefined;
  readonly sources: ApiSources;
  readonly logger: Logger;
  /** Before what could not be written into the root folder is tried again. */
  readonly retryMs?: number;
}

const RETRY_MS = 10_000;

export class Endpoints {
  /** As bound; undefined where there is only the socket. */
  readonly address: string | undefined;
  readonly #server: ApiServer | undefined;
  readonly #options: EndpointsOptions;
  readonly #retries = new Set<NodeJS.Timeout>();
  #closeSocket: (() => Promise<void>) | undefined;
  #isClosed = false;

  private constructor(server: ApiServer | undefined, options: EndpointsOptions) {
    this.#server = server;
    this.address = server?.address;
    this.#options = options;
  }

  /**
   * Rejects with `FailedPrecondition` when the port cannot be had. What goes into the root folder is for the convenience of
   * those who ask: a disk that is full or read-only is a warning.
   */
  static async open(options: EndpointsOptions): Promise<Endpoints> {
    const { rootDir, nodeName, address, sources, logger } = options;
    const names = [nodeName, hostname()];
    const server = address && (await startApiServer({ ...address, names }, sources));
    if (server && !isLoopback(address.host)) logger.warn({}, openWarning(server.address));
    const endpoints = new Endpoints(server, options);
    await endpoints.#persistently(controlSocket(rootDir), () => endpoints.#listen());
    if (server) await endpoints.#persistently(addressFile(rootDir), () => endpoints.#write(server.address));
    return endpoints;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const timer of this.#retries) clearTimeout(timer);
    await removeAddress(this.#options.rootDir).catch(() => undefined);
    await Promise.all([this.#server?.close(), this.#closeSocket?.()]);
  }

  async #listen(): Promise<void> {
    const closeSocket = await startControlServer(this.#options.rootDir, this.#options.sources);
    if (this.#isClosed) await closeSocket();
    else this.#closeSocket = closeSocket;
  }

  async #write(address: string): Promise<void> {
    if (!this.#isClosed) await writeAddress(this.#options.rootDir, address);
  }

  async #persistently(what: string, work: () => Promise<void>, isFirst = true): Promise<void> {
    const { logger, retryMs = RETRY_MS } = this.#options;
    try {
      await work();
    } catch (error) {
      if (this.#isClosed) return;
      if (isFirst) logger.warn({}, `${what} cannot be made, and is tried again: ${errorMessage(error)}`);
      const timer = setTimeout(() => {
        this.#retries.delete(timer);
        void this.#persistently(what, work, false);
      }, retryMs).unref();
      this.#retries.add(timer);
    }
  }
}

function openWarning(address: string): string {
  return (
    `whoever reaches ${address} may read the pods, their figures and what would be evicted, without a password; values of ` +
    'environment variables are left out. --healthz-bind-address 127.0.0.1 is for this machine alone'
  );
}
