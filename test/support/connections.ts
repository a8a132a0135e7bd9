import { AsyncLocalStorage } from 'node:async_hooks';
import { channel } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';

const underWay = new AsyncLocalStorage<Set<Socket>>();
channel('net.client.socket').subscribe((message) => {
  underWay.getStore()?.add((message as { readonly socket: Socket }).socket);
});

/** The connections to servers that some work has opened. Those of other work of this process are not among them. */
export class Connections {
  readonly #sockets = new Set<Socket>();

  /** How many have been opened, whether they have ended or not. */
  get opened(): number {
    return this.#sockets.size;
  }

  get open(): number {
    return [...this.#sockets].filter(({ destroyed }) => !destroyed).length;
  }

  /** Does the work, which may be asynchronous, and counts the connections that it opens. */
  of<T>(work: () => T): T {
    return underWay.run(this.#sockets, work);
  }
}
