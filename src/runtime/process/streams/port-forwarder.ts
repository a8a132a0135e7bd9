import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import type { PortForwarder } from '../../service/streaming-runtime.ts';

const HOSTS = ['127.0.0.1', '::1'] as const;

/** Connections to ports of this machine, where the pods of the embedded runtime listen. */
export class LoopbackForwarder implements PortForwarder {
  readonly #sockets = new Set<Socket>();
  #closed = false;

  async connect(port: number): Promise<Duplex> {
    const failures: string[] = [];
    for (const host of HOSTS) {
      if (this.#closed) throw new StateletError('Canceled', `port ${port} was given up`);
      try {
        return await this.#dial(host, port);
      } catch (error) {
        failures.push(errorMessage(error));
      }
    }
    const message = `failed to connect to port ${port} of this machine: ${failures.join(', ')}: does the pod listen there?`;
    throw new StateletError('Unavailable', message);
  }

  close(): void {
    this.#closed = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  #dial(host: string, port: number): Promise<Socket> {
    // Each side may end its direction before the other one.
    const socket = connect({ host, port, allowHalfOpen: true, noDelay: true });
    this.#sockets.add(socket);
    // An error is followed by close: whoever uses the connection hears of it by that.
    socket.on('error', () => undefined);
    socket.once('close', () => this.#sockets.delete(socket));
    return new Promise((resolve, reject) => {
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(socket);
      });
      socket.once('error', reject);
      socket.once('close', () => reject(new StateletError('Canceled', `port ${port} was given up`)));
    });
  }
}
