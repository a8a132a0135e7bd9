import type { Method } from '../../../../system/grpc/method.ts';
import type { Container, PodSandbox, PodSandboxMetadata } from '../../../../types/cri.ts';
import { StateletError } from '../../../../types/errors.ts';
import { type CallOptions, unlessNotFound } from '../../service/runtime-service.ts';
import type { WireContainerStatus } from '../messages/container-messages.ts';
import { CONTAINER_STATUS, POD_SANDBOX_STATUS } from '../messages/methods.ts';
import type { WirePodSandboxStatus } from '../messages/sandbox-messages.ts';
import type { States } from './call-corrections.ts';
import type { Channel, UnaryOptions } from './channel.ts';

/** The channel and the knowledge that the calls of CRI's RuntimeService share. */
export class CallContext {
  readonly index = new PodIndex();
  readonly ownCalls = new OwnCalls();
  readonly timeoutMs: number;
  readonly #channel: Channel;

  constructor(channel: Channel, timeoutMs: number) {
    this.#channel = channel;
    this.timeoutMs = timeoutMs;
  }

  call<Q, A>(method: Method<Q, A>, request: Q, options?: UnaryOptions): Promise<A> {
    return this.#channel.call(method, request, { timeoutMs: this.timeoutMs, ...options });
  }

  /** If the call fails, rejects with the error that `correct` gives; if `correct` fails, too, with the call's own error. */
  async corrected<T>(work: Promise<T>, correct: (error: unknown) => unknown): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw await Promise.resolve(correct(error)).catch(() => error);
    }
  }

  async containerStatus(containerId: string, options?: CallOptions): Promise<WireContainerStatus> {
    const { status } = await this.call(CONTAINER_STATUS, { containerId }, options);
    if (status === undefined) throw withoutStatus('container', containerId);
    return status;
  }

  async podSandboxStatus(podSandboxId: string, options?: CallOptions): Promise<WirePodSandboxStatus> {
    const { status } = await this.call(POD_SANDBOX_STATUS, { podSandboxId }, options);
    if (status === undefined) throw withoutStatus('sandbox', podSandboxId);
    return status;
  }

  /** Used by the corrections of errors. */
  readonly states: States = {
    container: (id) => unlessNotFound(this.containerStatus(id)),
    sandbox: async (id) => (await unlessNotFound(this.podSandboxStatus(id)))?.state,
  };
}

const withoutStatus = (what: string, id: string): StateletError =>
  new StateletError('Internal', `the runtime answered without a status when it was asked for ${what} ${id}`);

/** The calls of this client that are under way and lead to events. */
export class OwnCalls {
  readonly #ending = new Map<string, Ending>();
  #creating = 0;
  #nextCreated = Promise.withResolvers<undefined>();

  /** Notes a call that creates a container or a sandbox. */
  async creating<T>(work: Promise<T>): Promise<T> {
    this.#creating += 1;
    try {
      return await work;
    } finally {
      this.#creating -= 1;
      this.#nextCreated.resolve(undefined);
      this.#nextCreated = Promise.withResolvers();
    }
  }

  /** Resolves when the next creating call returns; undefined if none is under way. */
  nextCreated(): Promise<undefined> | undefined {
    return this.#creating === 0 ? undefined : this.#nextCreated.promise;
  }

  /** Notes a call that ends a container or a sandbox. */
  async ending<T>(id: string, work: Promise<T>): Promise<T> {
    const ending = this.#ending.get(id) ?? { calls: 0, ended: Promise.withResolvers<undefined>() };
    ending.calls += 1;
    this.#ending.set(id, ending);
    try {
      return await work;
    } finally {
      ending.calls -= 1;
      if (ending.calls === 0) {
        this.#ending.delete(id);
        ending.ended.resolve(undefined);
      }
    }
  }

  /** Resolves when the last ending call for that id returns; undefined if none is under way. */
  whenEnded(id: string | undefined): Promise<undefined> | undefined {
    return id === undefined ? undefined : this.#ending.get(id)?.ended.promise;
  }
}

interface Ending {
  calls: number;
  readonly ended: PromiseWithResolvers<undefined>;
}

interface Entry<T> {
  readonly value: T;
  /** The number of the list during or after which the entry was last seen. */
  seen: number;
}

/** Finds the pod of a container or a sandbox by its id: events of a runtime contain only ids. */
export class PodIndex {
  readonly #sandboxes = new Map<string, Entry<PodSandboxMetadata>>();
  /** The id of the container's sandbox. */
  readonly #containers = new Map<string, Entry<string>>();
  #lists = 0;

  /** The pod of a container or a sandbox. */
  podOf(id: string): PodSandboxMetadata | undefined {
    return this.#sandboxes.get(this.sandboxOf(id) ?? id)?.value;
  }

  sandboxOf(containerId: string): string | undefined {
    return this.#containers.get(containerId)?.value;
  }

  ids(): string[] {
    return [...this.#sandboxes.keys(), ...this.#containers.keys()];
  }

  addSandbox(id: string, metadata: PodSandboxMetadata): void {
    this.#put(this.#sandboxes, id, metadata);
  }

  addContainer(id: string, sandboxId: string): void {
    this.#put(this.#containers, id, sandboxId);
  }

  drop(id: string): void {
    this.#sandboxes.delete(id);
    this.#containers.delete(id);
  }

  /** Called before a list is asked for. The number is for `endSandboxes` or `endContainers`. */
  beginList(): number {
    return ++this.#lists;
  }

  /** `complete`: the list has no filter, so that sandboxes that are not in it are gone. */
  endSandboxes(begun: number, sandboxes: readonly PodSandbox[], complete: boolean): void {
    for (const { id, metadata } of sandboxes) this.addSandbox(id, metadata);
    if (complete) dropUnseen(this.#sandboxes, begun);
  }

  endContainers(begun: number, containers: readonly Container[], complete: boolean): void {
    for (const { id, podSandboxId } of containers) this.addContainer(id, podSandboxId);
    if (complete) dropUnseen(this.#containers, begun);
  }

  #put<T>(entries: Map<string, Entry<T>>, id: string, value: T): void {
    const entry = entries.get(id);
    if (entry === undefined) entries.set(id, { value, seen: this.#lists });
    else entry.seen = this.#lists;
  }
}

/** Entries that were added after the list was asked for stay. */
function dropUnseen(entries: Map<string, Entry<unknown>>, begun: number): void {
  for (const [id, { seen }] of entries) if (seen < begun) entries.delete(id);
}
