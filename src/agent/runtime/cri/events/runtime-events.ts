import { setTimeout as delay } from 'node:timers/promises';
import { Observable, share } from 'rxjs';
import type {
  ContainerEvent,
  ContainerEventType,
  ContainerStateName,
  PodSandboxMetadata,
} from '../../../../types/cri.ts';
import type { RuntimeService } from '../../service/runtime-service.ts';
import type { AgentContext } from '../../../../types/agent-context.ts';
import type { CallContext } from '../calls/call-context.ts';
import type { Channel } from '../calls/channel.ts';
import { feedEvents, Hints, type RawEvent } from './event-feed.ts';

const NS_PER_MS = 1e6;
/** The waits between looks at the state after an event. It usually follows within 15 ms; a busy runtime takes seconds. */
const LOOKS_AFTER_MS = [10, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120];

/** The waits before looks for what is not known: it may be no pod at all. */
const LOOKS_FOR_UNKNOWN_MS = [0, 20, 80, 320, 1280];

const EVENT_OF_STATE: Partial<Record<ContainerStateName, ContainerEventType>> = {
  CONTAINER_CREATED: 'CONTAINER_CREATED_EVENT',
  CONTAINER_RUNNING: 'CONTAINER_STARTED_EVENT',
  CONTAINER_EXITED: 'CONTAINER_STOPPED_EVENT',
};

export interface RuntimeEventsOptions extends Pick<RuntimeService, 'listPodSandbox' | 'listContainers'> {
  readonly channel: Channel;
  readonly calls: CallContext;
  readonly closed: AbortSignal;
}

/** The events of a runtime as hints. All subscribers share one stream. */
export class RuntimeEvents {
  readonly events: Observable<ContainerEvent>;
  readonly #context: AgentContext;
  readonly #options: RuntimeEventsOptions;

  constructor(context: AgentContext, options: RuntimeEventsOptions) {
    this.#context = context;
    this.#options = options;
    this.events = new Observable<ContainerEvent>((subscriber) => {
      const stopped = new AbortController();
      const signal = AbortSignal.any([stopped.signal, options.closed]);
      void this.#feed((event) => subscriber.next(event), signal).then(() => subscriber.complete());
      return () => stopped.abort();
    }).pipe(share());
  }

  async #feed(emit: (event: ContainerEvent) => void, signal: AbortSignal): Promise<void> {
    const { channel, calls } = this.#options;
    const { index } = calls;
    const hints = new Hints({
      podOf: (id) => index.podOf(id),
      lookUp: (id) => this.#lookUp(id, signal),
      whenShown: ({ id, type }) =>
        type === 'CONTAINER_DELETED_EVENT'
          ? this.#whenShownAsGone(id, signal)
          : this.#whenShownAsEnded(id, signal),
      emit: (event) => {
        emit(event);
        if (event.containerEventType === 'CONTAINER_DELETED_EVENT') index.drop(event.containerId);
      },
    });
    const repeatStates = (): Promise<void> => this.#repeatStates(hints);
    const tell = (raw: RawEvent): void => hints.tell(raw);
    await feedEvents(this.#context, { channel, tell, repeatStates }, signal);
  }

  /** If a creating call of this client is under way, its answer may show the pod. What another client creates starts before the runtime shows it. */
  async #lookUp(id: string, signal: AbortSignal): Promise<PodSandboxMetadata | undefined> {
    const { index, ownCalls } = this.#options.calls;
    for (let next = ownCalls.nextCreated(); next !== undefined; next = ownCalls.nextCreated()) {
      await next;
      if (index.podOf(id) !== undefined) return index.podOf(id);
    }
    for (const delayMs of LOOKS_FOR_UNKNOWN_MS) {
      await delay(delayMs, undefined, { signal, ref: false });
      const pod = await this.#listed(id);
      if (pod !== undefined) return pod;
    }
    return undefined;
  }

  async #listed(id: string): Promise<PodSandboxMetadata | undefined> {
    const { calls, listPodSandbox, listContainers } = this.#options;
    const [container] = await listContainers({ id });
    await listPodSandbox({ id: container?.podSandboxId ?? id });
    return calls.index.podOf(id);
  }

  /** If a call of this client ends the container, there is no wait: the pod is read when that call returns. */
  async #whenShownAsEnded(id: string, signal: AbortSignal): Promise<number | undefined> {
    for (const delayMs of LOOKS_AFTER_MS) {
      if (this.#ownEnd(id) !== undefined) return undefined;
      await delay(delayMs, undefined, { signal, ref: false });
      if (!(await this.#isRunning(id))) break;
    }
    return Date.now() * NS_PER_MS;
  }

  /** If a call of this client removes the container, it is gone when that call returns. */
  async #whenShownAsGone(id: string, signal: AbortSignal): Promise<number> {
    for (const delayMs of LOOKS_AFTER_MS) {
      const ownEnd = this.#ownEnd(id);
      if (ownEnd !== undefined) await ownEnd;
      else await delay(delayMs, undefined, { signal, ref: false });
      if (ownEnd !== undefined || !(await this.#isThere(id))) break;
    }
    return Date.now() * NS_PER_MS;
  }

  /** Resolves when the call returns by which this client ends it or its sandbox. */
  #ownEnd(id: string): Promise<undefined> | undefined {
    const { index, ownCalls } = this.#options.calls;
    return ownCalls.whenEnded(id) ?? ownCalls.whenEnded(index.sandboxOf(id));
  }

  /** According to the runtime's status; false if it is gone. */
  async #isRunning(id: string): Promise<boolean> {
    const { index, states } = this.#options.calls;
    if (index.sandboxOf(id) === undefined) return (await states.sandbox(id)) === 'SANDBOX_READY';
    return (await states.container(id))?.state === 'CONTAINER_RUNNING';
  }

  async #isThere(id: string): Promise<boolean> {
    const { index, states } = this.#options.calls;
    const isSandbox = index.sandboxOf(id) === undefined;
    return (await (isSandbox ? states.sandbox(id) : states.container(id))) !== undefined;
  }

  /** After a gap in the stream: emits the present states in place of the missed events. */
  async #repeatStates(hints: Hints): Promise<void> {
    const { calls, listPodSandbox, listContainers } = this.#options;
    const { index } = calls;
    const before = new Map(index.ids().map((id) => [id, index.podOf(id)]));
    const sandboxes = await listPodSandbox({});
    const containers = await listContainers({});
    const createdAt = Date.now() * NS_PER_MS;
    for (const { id, state } of sandboxes) {
      const ready = state === 'SANDBOX_READY';
      hints.tell({ id, type: ready ? 'CONTAINER_STARTED_EVENT' : 'CONTAINER_STOPPED_EVENT', createdAt });
    }
    for (const { id, state } of containers) {
      const type = EVENT_OF_STATE[state];
      if (type !== undefined) hints.tell({ id, type, createdAt });
    }
    for (const [id, pod] of before) {
      if (pod === undefined || index.podOf(id) !== undefined) continue;
      hints.tell({ id, type: 'CONTAINER_DELETED_EVENT', createdAt, pod });
    }
  }
}
