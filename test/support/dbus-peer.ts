/** A peer that speaks D-Bus on a Unix socket, with the answers of a test: for cases that a real systemd does not show on demand. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  decodeMessage,
  type DBusMessage,
  encodeMessage,
  messageLength,
} from '../../src/system/dbus/dbus-message.ts';
import type { DBusValue } from '../../src/system/dbus/dbus-types.ts';

/** What the peer does with a call. Without an answer the call waits. */
export type Answer = (call: PeerCall) => void;

export interface PeerCall {
  readonly member: string;
  readonly body: readonly DBusValue[];
  answer(signature?: string, body?: readonly DBusValue[]): void;
  fail(errorName: string, message?: string): void;
  signal(member: string, signature: string, body: readonly DBusValue[]): void;
  /** Bytes as they are. */
  send(bytes: Buffer): void;
  hangUp(): void;
}

const INTERFACE = 'org.freedesktop.systemd1.Manager';

export class DBusPeer {
  readonly dir = mkdtempSync(join(tmpdir(), 'statelet-dbus-'));
  readonly path = join(this.dir, 'socket');
  /** The members that were called, in order. */
  readonly called: string[] = [];
  readonly #answers = new Map<string, Answer[]>();
  readonly #greeting: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(greeting = 'OK 0123456789abcdef\r\n') {
    this.#greeting = greeting;
    this.#server = createServer((socket) => this.#serve(socket));
  }

  /** `path`: where, instead of in its own folder. */
  async listen(path = this.path): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(path, resolve));
    return this;
  }

  /** How calls of the member are answered: the first by the first answer, all further ones by the last. */
  on(member: string, ...answers: Answer[]): this {
    this.#answers.set(member, answers);
    return this;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
    rmSync(this.dir, { recursive: true });
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    let received = Buffer.alloc(0);
    let isOpen = false;
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes]);
      if (!isOpen) {
        const begin = received.indexOf('BEGIN\r\n');
        if (received.includes('AUTH EXTERNAL ') && begin < 0) socket.write(this.#greeting);
        if (begin < 0) return;
        isOpen = true;
        received = received.subarray(begin + 'BEGIN\r\n'.length);
      }
      for (let length = messageLength(received); length !== undefined && received.length >= length;) {
        const message = decodeMessage(received.subarray(0, length));
        received = received.subarray(length);
        length = messageLength(received);
        this.#take(message, socket);
      }
    });
  }

  #take(message: DBusMessage, socket: Socket): void {
    const { member = '', serial } = message;
    this.called.push(member);
    const answers = this.#answers.get(member) ?? [];
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    answer?.({
      member,
      body: message.body(),
      answer: (signature = '', body = []) => {
        const fields = { replySerial: serial, ...(signature !== '' && { signature }) };
        socket.write(encodeMessage('answer', 1, fields, signature, body));
      },
      fail: (errorName, text = 'refused') => {
        const fields = { errorName, replySerial: serial, signature: 's' };
        socket.write(encodeMessage('error', 1, fields, 's', [text]));
      },
      signal: (name, signature, body) => {
        const fields = { path: '/org/freedesktop/systemd1', interface: INTERFACE, member: name, signature };
        socket.write(encodeMessage('signal', 2, fields, signature, body));
      },
      send: (bytes) => void socket.write(bytes),
      hangUp: () => void socket.destroy(),
    });
  }
}

/** A job that ends at once. */
export const done: Answer = (call) => {
  call.answer('o', ['/job/1']);
  jobEnds(call, 'done');
};

export function jobEnds(call: PeerCall, result: string): void {
  call.signal('JobRemoved', 'uoss', [1, '/job/1', 'unit', result]);
}
