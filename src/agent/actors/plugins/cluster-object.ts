/** The object of Katalyst's that applies to this node: the node's CustomNodeConfig names it. */
import type { ApiServer } from '../../cluster/service/api-server.ts';
import {
  type ConfigTarget,
  configTarget,
  isSameTarget,
  type TargetResource,
  targetText,
} from '../../policies/eviction-plugins/katalyst-config.ts';
import { Timer } from '../../../system/timer.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorMessage } from '../../../types/errors.ts';

const READ_TIMEOUT_MS = 30_000;
const READ_AGAIN_MS = 30_000;

export interface ClusterObjectParts<T> {
  readonly api: Pick<ApiServer, 'get'>;
  readonly resource: TargetResource;
  /** The value in the object; `origin` is for messages. Throws where the object cannot be used. */
  readonly valueOf: (object: unknown, origin: string) => T;
  /** The value has changed. */
  readonly onChange?: () => void;
  /** A problem came or went. */
  readonly onProblem: () => void;
}

/** It is read when its hash changes. */
export class ClusterObject<T> {
  readonly #parts: ClusterObjectParts<T>;
  readonly #stop = new AbortController();
  readonly #timer: Timer;
  #target: ConfigTarget | undefined;
  #value: T | undefined;
  #problem: string | undefined;

  constructor({ clock }: Pick<AgentContext, 'clock'>, parts: ClusterObjectParts<T>) {
    this.#parts = parts;
    this.#timer = new Timer(clock);
  }

  /** As it was read last, also while the server does not answer. Undefined where there is none. */
  get value(): T | undefined {
    return this.#value;
  }

  /** Why it may be out of date. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** `config`: the CustomNodeConfig. */
  follow(config: unknown): void {
    const target = configTarget(config, this.#parts.resource);
    if (isSameTarget(target, this.#target)) return;
    this.#target = target;
    this.#timer.disarm();
    if (target === undefined) this.#set(undefined);
    else void this.#read(target);
  }

  stop(): void {
    this.#stop.abort();
    this.#timer.disarm();
  }

  /** Never rejects. Drops its result if another target has replaced this one meanwhile. */
  async #read(target: ConfigTarget): Promise<void> {
    const { api, valueOf } = this.#parts;
    const { resource, name, namespace } = target;
    const { signal } = this.#stop;
    const origin = targetText(target);
    try {
      const object = await api.get({ resource, name, namespace }, { signal, timeoutMs: READ_TIMEOUT_MS });
      if (this.#target === target && !signal.aborted) this.#set(valueOf(object, origin));
    } catch (error) {
      if (this.#target !== target || signal.aborted) return;
      this.#problem = `${origin} cannot be read: ${errorMessage(error)}`;
      this.#parts.onProblem();
      this.#timer.arm(READ_AGAIN_MS, () => void this.#read(target));
    }
  }

  #set(value: T | undefined): void {
    this.#value = value;
    this.#problem = undefined;
    this.#parts.onProblem();
    this.#parts.onChange?.();
  }
}
