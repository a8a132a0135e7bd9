import type { Socket } from 'node:net';
import { readErrorStream } from '../../agent/server/streaming/spdy/error-stream.ts';
import type { SpdyConnection } from '../../agent/server/streaming/spdy/spdy-connection.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import type { DaemonConnection } from './daemon-connection.ts';
import { openSpdy } from './spdy-request.ts';

const PROTOCOL = 'portforward.k8s.io';
/** A client that does not read stops all that share its SPDY connection. More connections let fewer share one. */
const CONNECTIONS_MAX = 16;

interface Carried {
  readonly socket: Socket;
  readonly port: number;
  readonly onProblem: (problem: string) => void;
}

interface Carrier {
  readonly spdy: Promise<SpdyConnection>;
  carried: number;
}

/** Carries connections to the ports of a pod, over a few SPDY connections to the daemon. */
export class ForwardedPod {
  readonly #daemon: DaemonConnection;
  readonly #path: string;
  readonly #carriers = new Set<Carrier>();
  readonly #lost = new AbortController();
  #requests = 0;
  #isClosed = false;

  constructor(daemon: DaemonConnection, path: string) {
    this.#daemon = daemon;
    this.#path = path;
  }

  /** Aborted, with the reason, when the pod cannot be reached any more. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Rejects where the pod cannot be reached. */
  async reach(): Promise<void> {
    await this.#carrier().spdy;
  }

  carry(socket: Socket, port: number, onProblem: (problem: string) => void): void {
    // The client may go at any time.
    socket.on('error', () => socket.destroy());
    const carrier = this.#carrier();
    carrier.carried += 1;
    socket.once('close', () => (carrier.carried -= 1));
    carrier.spdy.then(
      (spdy) => this.#join(spdy, { socket, port, onProblem }),
      (error: unknown) => {
        socket.destroy();
        this.#lose(error);
      },
    );
  }

  close(): void {
    this.#isClosed = true;
    for (const { spdy } of this.#carriers)
      spdy.then((connection) => connection.destroy()).catch(() => undefined);
  }

  /** The one that carries least, or a new one. */
  #carrier(): Carrier {
    const carriers = [...this.#carriers];
    const least = carriers.toSorted((a, b) => a.carried - b.carried)[0];
    if (least && (least.carried === 0 || carriers.length >= CONNECTIONS_MAX)) return least;
    const carrier: Carrier = { spdy: openSpdy(this.#daemon, this.#path, PROTOCOL), carried: 0 };
    this.#carriers.add(carrier);
    carrier.spdy.then((spdy) => this.#watch(carrier, spdy)).catch(() => this.#carriers.delete(carrier));
    return carrier;
  }

  /** A connection ends when nothing has used it for hours, and when the pod or the daemon ends. */
  async #watch(carrier: Carrier, spdy: SpdyConnection): Promise<void> {
    await spdy.closed;
    this.#carriers.delete(carrier);
    if (this.#isClosed || this.#carriers.size > 0) return;
    await this.reach().catch((error: unknown) => this.#lose(error));
  }

  #lose(error: unknown): void {
    const message = `lost connection to pod: ${errorMessage(error)}`;
    this.#lost.abort(new StateletError('Unavailable', message));
  }

  #join(spdy: SpdyConnection, { socket, port, onProblem }: Carried): void {
    const common = [
      ['port', String(port)],
      ['requestid', String(this.#requests++)],
    ] as const;
    const errors = spdy.open(new Map([['streamtype', 'error'], ...common]));
    errors.end();
    const data = spdy.open(new Map([['streamtype', 'data'], ...common]));
    void readErrorStream(errors).then((problem) => {
      if (problem === '') return;
      onProblem(problem.trim());
      // What the pod has sent before is still written.
      if (data.readableEnded || data.destroyed) socket.destroySoon();
      else data.once('end', () => socket.destroySoon());
    });
    socket.pipe(data);
    data.pipe(socket);
    data.once('close', () => socket.destroySoon());
    socket.once('close', () => {
      data.destroy();
      errors.destroy();
    });
  }
}
