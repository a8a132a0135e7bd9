import { setTimeout as delay } from 'node:timers/promises';
import { Observable, share } from 'rxjs';
import type {
  ContainerEvent,
  ContainerEventType,
  ContainerStateName,
  PodSandboxMetadata,
} from '../../../types/cri.ts';
import type { RuntimeService } from '../../service/runtime-service.ts';
import { systemClock } from '../../../system/system-clock.ts';
import type { CallContext } from '../calls/call-context.ts';
import type { Channel } from '../calls/channel.ts';
import { feedEvents } from './event-feed.ts';
import { type Happening, Hints } from './hints.ts';

const NS_PER_MS = 1e6;
/** How long to wait, time after time, for a runtime to show what it has told: 15 ms are usual, a busy one takes seconds. */
const LOOKS_AFTER_MS = [10, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120];

const EVENT_OF_STATE: Partial<Record<ContainerStateName, ContainerEventType>> = {
  CONTAINER_CREATED: 'CONTAINER_CREATED_EVENT',
  CONTAINER_RUNNING: 'CONTAINER_STARTED_EVENT',
  CONTAINER_EXITED: 'CONTAINER_STOPPED_EVENT',
};

export interface RuntimeEventsOptions extends Pick<RuntimeService, 'listPodSandbox' | 'listContainers'> {
  readonly channel: Channel;
  readonly context: CallContext;
  readonly warn: (message: string) => void;
  readonly closed: AbortSignal;
}

/** The events of a runtime as hints, heard once for all who listen. */
export class RuntimeEvents {
  readonly events: Observable<ContainerEvent>;
  readonly #options: RuntimeEventsOptions;

  constructor(options: RuntimeEventsOptions) {
    this.#options = options;
    this.events = new Observable<ContainerEvent>((subscriber) => {
      const stopped = new AbortController();
      const signal = AbortSignal.any([stopped.signal, options.closed]);
      void this.#feed((event) => subscriber.next(event), signal).then(() => subscriber.complete());
      return () => stopped.abort();
    }).pipe(share());
  }

  async #feed(emit: (event: ContainerEvent) => void, signal: AbortSignal): Promise<void> {
    const { channel, context, warn } = this.#options;
    const { index } = context;
    const hints = new Hints({
      podOf: (id) => index.podOf(id),
      lookUp: (id) => this.#lookUp(id),
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
    const tell = (happening: Happening): void => hints.tell(happening);
    await feedEvents({ channel, clock: systemClock, tell, repeatStates, warn }, signal);
  }

  /** What a call of our own has just made is known when the call comes back. */
  async #lookUp(id: string): Promise<PodSandboxMetadata | undefined> {
    const { context, listPodSandbox, listContainers } = this.#options;
    const { index, ownCalls } = context;
    for (let next = ownCalls.nextCreated(); next !== undefined; next = ownCalls.nextCreated()) {
      await next;
      if (index.podOf(id) !== undefined) return index.podOf(id);
    }
    const [container] = await listContainers({ id });
    await listPodSandbox({ id: container?.podSandboxId ?? id });
    return index.podOf(id);
  }

  /** Nobody has to wait for the end of what we are ending ourselves: it is looked at when that call comes back. */
  async #whenShownAsEnded(id: string, signal: AbortSignal): Promise<number | undefined> {
    for (const delayMs of LOOKS_AFTER_MS) {
      if (this.#ownEnd(id) !== undefined) return undefined;
      await delay(delayMs, undefined, { signal, ref: false });
      if (!(await this.#isRunning(id))) break;
    }
    return Date.now() * NS_PER_MS;
  }

  /** What we are removing ourselves is gone when that call comes back. */
  async #whenShownAsGone(id: string, signal: AbortSignal): Promise<number> {
    for (const delayMs of LOOKS_AFTER_MS) {
      const ownEnd = this.#ownEnd(id);
      if (ownEnd !== undefined) await ownEnd;
      else await delay(delayMs, undefined, { signal, ref: false });
      if (ownEnd !== undefined || !(await this.#isThere(id))) break;
    }
    return Date.now() * NS_PER_MS;
  }

  /** Resolves when the call comes back by which we end it, or the sandbox that it is in. */
  #ownEnd(id: string): Promise<undefined> | undefined {
    const { index, ownCalls } = this.#options.context;
    return ownCalls.whenEnded(id) ?? ownCalls.whenEnded(index.sandboxOf(id));
  }

  /** As the runtime shows it: false of what is gone. */
  async #isRunning(id: string): Promise<boolean> {
    const { index, states } = this.#options.context;
    if (index.sandboxOf(id) === undefined) return (await states.sandbox(id)) === 'SANDBOX_READY';
    return (await states.container(id))?.state === 'CONTAINER_RUNNING';
  }

  async #isThere(id: string): Promise<boolean> {
    const { index, states } = this.#options.context;
    const isSandbox = index.sandboxOf(id) === undefined;
    return (await (isSandbox ? states.sandbox(id) : states.container(id))) !== undefined;
  }

  /** What happened while nothing was heard: the present states stand for it. */
  async #repeatStates(hints: Hints): Promise<void> {
    const { context, listPodSandbox, listContainers } = this.#options;
    const { index } = context;
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
