/**
 * A proxy between a node and its API server that passes requests on unchanged, and lets chosen ones fail. It ends TLS, so that it can answer itself;
 * to the API server it is the node, or the user of the request's `Authorization`.
 */
import https from 'node:https';
import type { IncomingMessage } from 'node:http';
import type { ConnectionDetails } from '../../../src/agent/cluster/service/api-server.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { waitFor } from '../wait-for.ts';
import { type BedAnswer, type BedRequest, bodyOf, breakOff, HttpBed } from './http-bed.ts';

export interface RequestPattern {
  readonly method?: string;
  /** Of the path with its query. */
  readonly path?: RegExp;
}

export interface PassedRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

type Fate = (request: PassedRequest, answer: BedAnswer, pass: () => Promise<IncomingMessage>) => void;

/** A fault in the requests of one pattern. */
export class ApiFault {
  /** The number of requests that it has affected. */
  hits = 0;
  readonly pattern: RequestPattern;
  readonly fate: Fate;
  readonly #lift: (fault: ApiFault) => void;

  constructor(pattern: RequestPattern, fate: Fate, lift: (fault: ApiFault) => void) {
    this.pattern = pattern;
    this.fate = fate;
    this.#lift = lift;
  }

  async wasHit(times = 1): Promise<void> {
    const what = `${this.pattern.method ?? 'requests'} ${this.pattern.path?.source ?? ''}, ${times} times`;
    await waitFor(() => this.hits >= times, { what });
  }

  /** Later requests are passed on unchanged. */
  lift(): void {
    this.#lift(this);
  }
}

/** Holds requests back before they reach the API server. */
export interface HeldRequests extends ApiFault {
  /** Passes them on. Later requests are passed on at once. */
  release(): void;
}

export class ApiFaultProxy {
  /** All requests that came, in their order. */
  readonly requests: PassedRequest[] = [];
  readonly #controlPlane: ControlPlane;
  readonly #bed: HttpBed;
  readonly #asNode: https.Agent;
  /** For requests with an `Authorization`: a certificate would count more. */
  readonly #asNobody: https.Agent;
  #faults: ApiFault[] = [];
  /** Of the proxy. It stays the same when the proxy is opened again. */
  #url = '';

  constructor(controlPlane: ControlPlane) {
    this.#controlPlane = controlPlane;
    const { ca, cert, key } = controlPlane.details('node');
    this.#asNode = new https.Agent({ keepAlive: true, ca, cert, key });
    this.#asNobody = new https.Agent({ keepAlive: true, ca });
    const files = controlPlane.ca.filesOf('apiserver');
    this.#bed = new HttpBed({ protocol: 'h2', files }, (request, answer) => void this.#take(request, answer));
  }

  async open(): Promise<this> {
    await this.#bed.open(this.#url === '' ? 0 : Number(new URL(this.#url).port));
    this.#url = this.#bed.url;
    return this;
  }

  /** Breaks all connections, and refuses new ones until it is opened again. */
  async close(): Promise<void> {
    await this.#bed.close();
    this.#asNode.destroy();
    this.#asNobody.destroy();
  }

  /** Breaks all connections. New ones are accepted. */
  cut(): void {
    this.#bed.cut();
  }

  details(): ConnectionDetails {
    return { ...this.#controlPlane.details('node'), server: this.#url };
  }

  /** Returns the path of a kubeconfig of the node that leads through this proxy. */
  kubeconfig(): string {
    const { ca } = this.#controlPlane;
    return this.#controlPlane.writeKubeconfig('node-through-proxy', ca.filesOf('node'), this.#url);
  }

  /** The requests of this pattern so far. */
  seen(pattern: RequestPattern): readonly PassedRequest[] {
    return this.requests.filter((request) => isMatch(pattern, request));
  }

  /** The requests do not reach the API server, and are answered with this status. */
  refuse(pattern: RequestPattern, status: number, headers: Readonly<Record<string, string>> = {}): ApiFault {
    return this.#add(pattern, (_request, answer) => {
      answer.writeHead(status, headers);
      answer.end();
    });
  }

  /** The requests do not reach the API server, and are not answered. */
  ignore(pattern: RequestPattern): ApiFault {
    return this.#add(pattern, () => undefined);
  }

  /** The requests are carried out, and the connection breaks instead of an answer. */
  loseAnswers(pattern: RequestPattern): ApiFault {
    return this.#add(pattern, (request, answer, pass) => {
      if (isWatch(request)) {
        breakOff(answer);
        return;
      }
      void pass().then(
        (passed) => passed.resume().once('end', () => breakOff(answer)),
        () => breakOff(answer),
      );
    });
  }

  /** The requests are carried out, and half of the answer comes before the connection breaks. */
  halveAnswers(pattern: RequestPattern): ApiFault {
    return this.#add(pattern, (request, answer, pass) => {
      if (isWatch(request)) {
        breakOff(answer);
        return;
      }
      const halve = async () => {
        const passed = await pass();
        const body = await bodyOf(passed);
        answer.writeHead(passed.statusCode ?? 500, { 'content-type': 'application/json' });
        answer.write(body.slice(0, Math.ceil(body.length / 2)), () => breakOff(answer));
      };
      halve().catch(() => breakOff(answer));
    });
  }

  /** The requests are carried out, and the objects in the answers are changed on their way. */
  change<T>(pattern: RequestPattern, change: (answer: T) => T): ApiFault {
    return this.#add(pattern, (_request, answer, pass) => {
      const passOn = async () => {
        const passed = await pass();
        const body = await bodyOf(passed);
        const isGood = (passed.statusCode ?? 500) < 300;
        answer.writeHead(passed.statusCode ?? 500, { 'content-type': 'application/json' });
        answer.end(isGood ? JSON.stringify(change(JSON.parse(body) as T)) : body);
      };
      passOn().catch(() => breakOff(answer));
    });
  }

  delay(pattern: RequestPattern, delayMs: number): ApiFault {
    return this.#add(pattern, (_request, answer, pass) => {
      setTimeout(
        () =>
          void pass().then(
            (passed) => forward(passed, answer),
            () => breakOff(answer),
          ),
        delayMs,
      );
    });
  }

  hold(pattern: RequestPattern): HeldRequests {
    const held: (() => void)[] = [];
    const fault = this.#add(pattern, (_request, answer, pass) => {
      held.push(
        () =>
          void pass().then(
            (passed) => forward(passed, answer),
            () => breakOff(answer),
          ),
      );
    });
    const release = () => {
      fault.lift();
      for (const pass of held.splice(0)) pass();
    };
    return Object.assign(fault, { release });
  }

  #add(pattern: RequestPattern, fate: Fate): ApiFault {
    const fault = new ApiFault(pattern, fate, (lifted) => {
      this.#faults = this.#faults.filter((other) => other !== lifted);
    });
    this.#faults = [fault, ...this.#faults];
    return fault;
  }

  async #take(request: BedRequest, answer: BedAnswer): Promise<void> {
    answer.on('error', () => undefined);
    const body = await bodyOf(request).catch(() => undefined);
    if (body === undefined) return;
    const taken: PassedRequest = { method: request.method ?? '', path: request.url ?? '', body };
    this.requests.push(taken);
    const pass = () => this.#pass(taken, request, answer);
    const fault = this.#faults.find(({ pattern }) => isMatch(pattern, taken));
    if (fault !== undefined) {
      fault.hits += 1;
      fault.fate(taken, answer, pass);
      return;
    }
    await pass().then(
      (passed) => forward(passed, answer),
      () => breakOff(answer),
    );
  }

  #pass(
    { method, path, body }: PassedRequest,
    { headers }: BedRequest,
    answer: BedAnswer,
  ): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const kept = Object.entries(headers).filter(([name]) => !name.startsWith(':') && !HOP_BY_HOP.has(name));
    const passed = https.request(this.#controlPlane.server + path, {
      method,
      agent: headers.authorization === undefined ? this.#asNode : this.#asNobody,
      // For a DELETE, Node would not send the length by itself.
      headers: { ...Object.fromEntries(kept), 'content-length': Buffer.byteLength(body) },
    });
    passed.once('response', resolve).on('error', reject).end(body);
    answer.once('close', () => passed.destroy());
    return promise;
  }
}

const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'host',
  'keep-alive',
  'content-length',
  'transfer-encoding',
]);

/** Its answer has no end. */
function isWatch({ path }: PassedRequest): boolean {
  return path.includes('watch=true');
}

function isMatch({ method, path }: RequestPattern, request: PassedRequest): boolean {
  return (method === undefined || method === request.method) && (path?.test(request.path) ?? true);
}

function forward(passed: IncomingMessage, answer: BedAnswer): void {
  const headers = Object.entries(passed.headers).filter(([name]) => !HOP_BY_HOP.has(name));
  answer.writeHead(passed.statusCode ?? 500, Object.fromEntries(headers));
  passed.on('error', () => breakOff(answer));
  passed.pipe(answer);
  // The head of a watch goes out before its first event.
  if (!('stream' in answer)) answer.flushHeaders();
}
