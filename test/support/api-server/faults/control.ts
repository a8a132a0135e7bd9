/**
 * The control socket of the double, for tests: one JSON value a line. A test sends commands, each with a number, and gets an answer of that number;
 * between them it gets requests, and the hits of faults.
 */
import { rmSync } from 'node:fs';
import net from 'node:net';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import type { FaultRule, RequestPattern } from './fault-rules.ts';
import type { Faults } from './faults.ts';

export type Command =
  | { readonly do: 'add'; readonly rule: FaultRule }
  | { readonly do: 'lift'; readonly rule: number }
  | { readonly do: 'liftAll' }
  | { readonly do: 'tell'; readonly pattern: RequestPattern; readonly event: object }
  | { readonly do: 'end'; readonly pattern: RequestPattern }
  /** Breaks all connections. */
  | { readonly do: 'break' }
  /** Another serving certificate, for new connections: the name of its files. */
  | { readonly do: 'certificate'; readonly name: string }
  /** How far the clock is ahead of that of the machine. */
  | { readonly do: 'clock'; readonly aheadMs: number }
  /** Forgets all changes so far: who needs them has to list anew. */
  | { readonly do: 'compact' };

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly user: string;
}

/** Messages of the double. An answer has the number of its command, which is that of the rule as well. */
export type Said =
  | { readonly answered: number; readonly error?: string }
  | { readonly hit: number; readonly hits: number }
  | { readonly request: SeenRequest };

/** What a test can change beside the faults. */
export interface SteeredServer {
  readonly faults: Faults;
  serveCertificate(name: string): void;
  setAhead(aheadMs: number): void;
  compact(): void;
}

export const controlSocketOf = (dir: string): string => join(dir, 'control.sock');

export async function serveControl(server: SteeredServer, dir: string): Promise<void> {
  const listener = net.createServer((socket) => serveTest(server, socket));
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  // Removes the socket of a double that was killed.
  rmSync(controlSocketOf(dir), { force: true });
  listener.once('error', reject).listen(controlSocketOf(dir), () => resolve(undefined));
  await promise;
}

function serveTest(server: SteeredServer, socket: net.Socket): void {
  const { faults } = server;
  const say = (said: Said) => socket.write(`${JSON.stringify(said)}\n`);
  const listener: Parameters<typeof faults.listeners.add>[0] = {
    request: ({ method, path, user }) => say({ request: { method, path, user: user.name } }),
    hit: (id, hits) => say({ hit: id, hits }),
  };
  faults.listeners.add(listener);
  socket.on('error', () => undefined);
  socket.once('close', () => {
    faults.listeners.delete(listener);
    faults.liftAll();
  });
  // `readline` emits the errors of its input again.
  const lines = createInterface({ input: socket }).on('error', () => undefined);
  lines.on('line', (line) => {
    const { id, ...command } = JSON.parse(line) as Command & { readonly id: number };
    try {
      carryOut(server, id, command);
      say({ answered: id });
    } catch (error) {
      say({ answered: id, error: String(error) });
    }
  });
}

function carryOut(server: SteeredServer, id: number, command: Command): void {
  const { faults } = server;
  switch (command.do) {
    case 'add':
      faults.add(id, command.rule);
      break;
    case 'lift':
      faults.lift(command.rule);
      break;
    case 'liftAll':
      faults.liftAll();
      break;
    case 'tell':
      faults.tell(command.pattern, command.event);
      break;
    case 'end':
      faults.end(command.pattern);
      break;
    case 'break':
      faults.connections.breakAll();
      break;
    case 'certificate':
      server.serveCertificate(command.name);
      break;
    case 'clock':
      server.setAhead(command.aheadMs);
      break;
    case 'compact':
      server.compact();
      break;
  }
}
