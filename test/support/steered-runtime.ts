/**
 * A node whose calls a test steers: it can hold a call, let it proceed, make it fail, or make it ignore its abort signal, as if
 * the answer had already been on its way. All other calls pass through. The runtime's events are lost.
 */
import { NEVER } from 'rxjs';
import { POD_UID_LABEL } from '../../src/agent/policies/cri/cri-labels.ts';
import type { NodeParts, PodNode } from '../../src/agent/runtime/node/pod-node.ts';
import type { RuntimeService } from '../../src/agent/runtime/service/runtime-service.ts';
import { StateletError } from '../../src/types/errors.ts';

/** Synchronous methods: they are not steered. */
const SYNCHRONOUS: ReadonlySet<string | symbol> = new Set([
  'withdraw',
  'unsupportedFields',
  'rejection',
  'created',
  'pastInstances',
  'forgetImage',
  'podIP',
  'collectGarbage',
]);

type Asynchronous<Service> = {
  [Name in keyof Service]: Service[Name] extends (...args: never[]) => Promise<unknown> ? Name : never;
}[keyof Service];

export type Method = Asynchronous<RuntimeService> | Asynchronous<PodNode>;

export interface Call {
  readonly method: Method;
  /** UID of the pod; empty for a call that is not about a pod. */
  readonly uid: string;
  readonly args: readonly unknown[];
  readonly signal: AbortSignal | undefined;
}

export type Which = (call: Call) => boolean;

/** An observer of every call. */
export interface CallObserver {
  begun(call: Call): void;
  /** The call is over, whether it succeeded or failed. */
  ended(call: Call): void;
}

type Decision = { readonly error?: Error };

/** A call that waits until the test lets it proceed or fail. */
export class HeldCall {
  /** Resolves to the call when it is made. */
  readonly arrived: Promise<Call>;
  readonly decided: Promise<Decision>;
  readonly #arrive: (call: Call) => void;
  readonly #decide: (decision: Decision) => void;
  hasArrived = false;

  constructor() {
    const arrived = Promise.withResolvers<Call>();
    const decided = Promise.withResolvers<Decision>();
    this.arrived = arrived.promise;
    this.decided = decided.promise;
    this.#arrive = arrived.resolve;
    this.#decide = decided.resolve;
  }

  take(call: Call): void {
    this.hasArrived = true;
    this.#arrive(call);
  }

  /** Passes the call on to the node. A call whose signal has been aborted meanwhile is rejected, unless it ignores its signal. */
  proceed(): void {
    this.#decide({});
  }

  fail(error: Error = new StateletError('Unknown', 'the test makes this call fail')): void {
    this.#decide({ error });
  }
}

interface Rule {
  readonly which: Which;
  readonly held: HeldCall;
}

export class SteeredNode {
  readonly parts: NodeParts;
  /** All calls, in order. */
  readonly calls: Call[] = [];
  readonly #observer: CallObserver;
  /** Which calls ignore their abort signal. */
  deaf: Which = () => false;
  #rules: Rule[] = [];
  readonly #held = new Set<HeldCall>();
  readonly #owners = new Map<string, string>();

  constructor(parts: NodeParts, observer: CallObserver) {
    this.#observer = observer;
    this.parts = {
      runtime: this.#steer(parts.runtime),
      node: this.#steer(parts.node),
      start: (view) => parts.start(view),
      stop: () => parts.stop(),
    };
  }

  /** Holds the next such call. */
  hold(which: Which): HeldCall {
    const held = new HeldCall();
    this.#rules.push({ which, held });
    this.#held.add(held);
    return held;
  }

  /** The next such call fails. */
  fail(which: Which): void {
    this.hold(which).fail();
  }

  /** Whether the runtime has ever had a sandbox or a container of the pod. */
  hasSeen(uid: string): boolean {
    return [...this.#owners.values()].includes(uid);
  }

  /** All held calls proceed, and no further call is held. */
  proceedAll(): void {
    this.#rules = [];
    this.deaf = () => false;
    for (const held of this.#held) held.proceed();
    this.#held.clear();
  }

  /** The service, with the rules applied to each of its calls. */
  #steer<Service extends RuntimeService | PodNode>(service: Service): Service {
    return new Proxy(service, {
      get: (_, name) => {
        if (name === 'containerEvents') return () => NEVER;
        const real = service[name as keyof Service] as (...args: unknown[]) => unknown;
        if (typeof real !== 'function' || SYNCHRONOUS.has(name)) return real;
        return (...args: unknown[]) =>
          this.#pass(name as Method, args, (given) => real.apply(service, given) as Promise<unknown>);
      },
    });
  }

  async #pass(
    method: Method,
    args: unknown[],
    real: (args: unknown[]) => Promise<unknown>,
  ): Promise<unknown> {
    const call = { method, uid: this.#uidOf(method, args), args, signal: signalOf(args) };
    this.calls.push(call);
    this.#observer.begun(call);
    const rule = this.#rules.find(({ which }) => which(call));
    try {
      if (rule) await this.#decided(rule, call);
      const answer = await real(this.deaf(call) ? withoutSignal(args) : args);
      this.#learn(call, answer);
      return answer;
    } finally {
      this.#observer.ended(call);
    }
  }

  async #decided(rule: Rule, call: Call): Promise<void> {
    const { held } = rule;
    this.#rules = this.#rules.filter((other) => other !== rule);
    held.take(call);
    const { error } = await held.decided;
    if (error) throw error;
    if (!this.deaf(call)) call.signal?.throwIfAborted();
  }

  #learn({ uid }: Call, answer: unknown): void {
    if (typeof answer === 'string') this.#owners.set(answer, uid);
    if (!Array.isArray(answer)) return;
    for (const { id, labels } of answer as { id?: string; labels?: Readonly<Record<string, string>> }[]) {
      const owner = labels?.[POD_UID_LABEL];
      if (id !== undefined && owner !== undefined) this.#owners.set(id, owner);
    }
  }

  /** UID of the pod of the call, if its arguments or an earlier answer show it. */
  #uidOf(method: Method, args: readonly unknown[]): string {
    const [first, , third] = args as [unknown, unknown, { metadata?: { uid?: string } } | undefined];
    if (typeof first === 'string') {
      if (method === 'release') return first;
      return this.#owners.get(first) ?? third?.metadata?.uid ?? '';
    }
    const { metadata, labelSelector, uid } = (first ?? {}) as {
      metadata?: { uid?: string };
      labelSelector?: Readonly<Record<string, string>>;
      uid?: string;
    };
    return metadata?.uid ?? labelSelector?.[POD_UID_LABEL] ?? uid ?? '';
  }
}

function signalOf(args: readonly unknown[]): AbortSignal | undefined {
  for (const arg of args) {
    if (arg instanceof AbortSignal) return arg;
    const { signal } = (arg ?? {}) as { signal?: unknown };
    if (signal instanceof AbortSignal) return signal;
  }
  return undefined;
}

/** The arguments with a signal that is never aborted. */
function withoutSignal(args: readonly unknown[]): unknown[] {
  const never = new AbortController().signal;
  return args.map((arg) => {
    if (arg instanceof AbortSignal) return never;
    const isOptions = arg !== null && typeof arg === 'object' && 'signal' in arg;
    return isOptions ? { ...arg, signal: never } : arg;
  });
}
