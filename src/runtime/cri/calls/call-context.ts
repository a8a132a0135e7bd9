import { StateletError } from '../../../types/errors.ts';
import type { CallOptions } from '../../service/runtime-service.ts';
import { unlessNotFound } from '../../service/unless-not-found.ts';
import type { States } from './call-corrections.ts';
import type { Channel, UnaryOptions } from './channel.ts';
import type { WireContainerStatus } from '../messages/container-messages.ts';
import type { Method } from '../../../system/grpc/method.ts';
import { CONTAINER_STATUS, POD_SANDBOX_STATUS } from '../messages/methods.ts';
import { OwnCalls } from './own-calls.ts';
import { PodIndex } from '../events/pod-index.ts';
import type { WirePodSandboxStatus } from '../messages/sandbox-messages.ts';

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
