/** The connections of the double below TLS: they can end without TLS's closing message, as when a machine is switched off. */
import type net from 'node:net';
import type { FaultyRequest } from './fault-rules.ts';

export class DoubleConnections {
  /** By the client's port. */
  readonly #sockets = new Map<number, net.Socket>();

  add(socket: net.Socket): void {
    const { remotePort } = socket;
    if (remotePort === undefined) return;
    this.#sockets.set(remotePort, socket);
    socket.once('close', () => this.#sockets.delete(remotePort));
  }

  breakOff({ remotePort }: Pick<FaultyRequest, 'remotePort'>): void {
    if (remotePort !== undefined) this.#sockets.get(remotePort)?.destroy();
  }

  breakAll(): void {
    for (const socket of this.#sockets.values()) socket.destroy();
  }
}
