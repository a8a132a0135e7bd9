/** The faults of a double, from the side of a test. */
import { once } from 'node:events';
import { copyFileSync, rmSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Subject } from 'rxjs';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { waitFor } from '../../wait-for.ts';
import { type Command, controlSocketOf, type Said, type SeenRequest } from './control.ts';
import type { Fault, FaultRule, RequestPattern } from './fault-rules.ts';

/** A rule that applies until it is lifted, or until it has affected its number of requests. */
export class DoubleFault {
  hits = 0;
  readonly fault: Fault;
  readonly #what: string;
  readonly #lift: () => Promise<void>;

  constructor({ fault, ...pattern }: FaultRule, lift: () => Promise<void>) {
    this.fault = fault;
    this.#what = `${fault.kind} of ${JSON.stringify(pattern)}`;
    this.#lift = lift;
  }

  async wasHit(times = 1): Promise<void> {
    await waitFor(() => this.hits >= times, { what: `${this.#what}, ${times} times`, pauseMs: 10 });
  }

  async lift(): Promise<void> {
    await this.#lift();
  }
}

export class DoubleFaults {
  /** All requests for resources since this was opened, in their order; without those of administrators. */
  readonly requests: SeenRequest[] = [];
  readonly #controlPlane: ControlPlane;
  readonly #faults = new Map<number, DoubleFault>();
  readonly #answered = new Subject<Extract<Said, { readonly answered: number }>>();
  #socket = new net.Socket();
  #commands = 0;

  constructor(controlPlane: ControlPlane) {
    this.#controlPlane = controlPlane;
  }

  async open(): Promise<this> {
    this.#socket = net.connect(controlSocketOf(this.#controlPlane.dir));
    await once(this.#socket, 'connect');
    this.#socket.on('error', () => undefined);
    // `readline` emits the errors of its input again.
    const lines = createInterface({ input: this.#socket }).on('error', () => undefined);
    lines.on('line', (line) => this.#hear(JSON.parse(line) as Said));
    return this;
  }

  /** All rules are lifted. */
  close(): void {
    this.#socket.destroy();
  }

  async add(pattern: Omit<FaultRule, 'fault'>, fault: Fault): Promise<DoubleFault> {
    const rule = { ...pattern, fault };
    const id = this.#commands + 1;
    const added = new DoubleFault(rule, () => this.#send({ do: 'lift', rule: id }));
    this.#faults.set(id, added);
    await this.#send({ do: 'add', rule });
    return added;
  }

  liftAll(): Promise<void> {
    return this.#send({ do: 'liftAll' });
  }

  /** The requests so far whose path matches. */
  async seen(method: string, path: RegExp): Promise<readonly SeenRequest[]> {
    // Everything that the double sent before its answer has arrived then.
    await this.#send({ do: 'lift', rule: 0 });
    return this.requests.filter((request) => request.method === method && path.test(request.path));
  }

  /** Sends an event that has not happened to the watches of the pattern. */
  tell(pattern: RequestPattern, event: object): Promise<void> {
    return this.#send({ do: 'tell', pattern, event });
  }

  /** Ends the watches of the pattern. */
  endWatches(pattern: RequestPattern): Promise<void> {
    return this.#send({ do: 'end', pattern });
  }

  breakConnections(): Promise<void> {
    return this.#send({ do: 'break' });
  }

  /** New connections get this serving certificate; `apiserver` is the right one. */
  serveCertificate(name: string): Promise<void> {
    return this.#send({ do: 'certificate', name });
  }

  setAhead(aheadMs: number): Promise<void> {
    return this.#send({ do: 'clock', aheadMs });
  }

  compact(): Promise<void> {
    return this.#send({ do: 'compact' });
  }

  /** Saves the present objects. Returns a function that starts the server again with them, as when etcd is restored from a backup. */
  backUp(): () => Promise<void> {
    const { dir } = this.#controlPlane;
    const backup = join(dir, 'backup.jsonl');
    copyFileSync(join(dir, JOURNAL), backup);
    return () => this.#restart(() => copyFileSync(backup, join(dir, JOURNAL)));
  }

  /** The server has forgotten everything. */
  async empty(): Promise<void> {
    await this.#restart(() => rmSync(join(this.#controlPlane.dir, JOURNAL)));
  }

  async #restart(change: () => void): Promise<void> {
    const { apiServer } = this.#controlPlane;
    await apiServer.stop();
    change();
    await apiServer.start();
    await this.open();
  }

  async #send(command: Command): Promise<void> {
    const id = (this.#commands += 1);
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const subscription = this.#answered.subscribe(({ answered, error }) => {
      if (answered !== id) return;
      if (error === undefined) resolve(undefined);
      else reject(new Error(error));
    });
    this.#socket.write(`${JSON.stringify({ ...command, id })}\n`);
    await promise.finally(() => subscription.unsubscribe());
  }

  #hear(said: Said): void {
    if ('request' in said) this.requests.push(said.request);
    else if ('hit' in said) {
      const fault = this.#faults.get(said.hit);
      if (fault !== undefined) fault.hits = said.hits;
    } else this.#answered.next(said);
  }
}

const JOURNAL = 'journal.jsonl';
