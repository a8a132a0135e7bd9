import type { Socket } from 'node:net';

export interface StrangersLimits {
  /** Connections that have waited longer than `graceMs`. */
  readonly socketsMax: number;
  /** Requests of many known clients may come at once: a new connection is given this time to tell whose it is. */
  readonly graceMs: number;
  /** Connections, however short they have waited. */
  readonly burstMax: number;
  /** What all of them together have sent: headers that are not whole yet are in memory. */
  readonly bytesMax: number;
}

interface Stranger {
  readonly socket: Socket;
  readonly since: number;
}

/** How often it is counted what they have sent. */
const COUNT_MS = 250;

/**
 * The connections from which no request has been let in yet. When there are too many, the one that has waited longest is cut off, and
 * when they have sent too much, those that have sent most: a client that opens connections by the thousand takes no memory, and keeps
 * no other client out.
 */
export class Strangers {
  readonly #limits: StrangersLimits;
  /** In the order in which they came. */
  readonly #sockets = new Map<string, Stranger>();
  #counting: NodeJS.Timeout | undefined;

  constructor(limits: StrangersLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#sockets.size;
  }

  add(socket: Socket): void {
    const name = nameOf(socket);
    this.#sockets.set(name, { socket, since: performance.now() });
    socket.once('close', () => {
      if (this.#sockets.get(name)?.socket === socket) this.#sockets.delete(name);
    });
    this.#endOldest();
    this.#counting ??= setInterval(() => this.#count(), COUNT_MS).unref();
  }

  /** The client of this connection has been let in. A TLS connection has the name of the one that carries it. */
  know(socket: Socket): void {
    this.#sockets.delete(nameOf(socket));
  }

  #endOldest(): void {
    const { socketsMax, graceMs, burstMax } = this.#limits;
    const before = performance.now() - graceMs;
    let left = this.#sockets.size;
    for (const { socket, since } of this.#sockets.values()) {
      if (left <= socketsMax || (since > before && left <= burstMax)) break;
      socket.destroy();
      left -= 1;
    }
  }

  #count(): void {
    this.#endOldest();
    const sent = Array.from(this.#sockets.values(), ({ socket }) => ({ socket, bytes: socket.bytesRead }));
    let all = sent.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { socket, bytes } of sent.sort((a, b) => b.bytes - a.bytes)) {
      if (all <= this.#limits.bytesMax) break;
      socket.destroy();
      all -= bytes;
    }
    if (this.#sockets.size > 0) return;
    clearInterval(this.#counting);
    this.#counting = undefined;
  }
}

function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress ?? ''} ${remotePort ?? ''}`;
}
