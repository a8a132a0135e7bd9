/** An object of Katalyst's that is for this node: which one that is, the node's CustomNodeConfig says. */
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
  /** What it says; `origin` is for people. Throws where it cannot be used. */
  readonly valueOf: (object: unknown, origin: string) => T;
  /** Another value holds. */
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

  /** As it was read last: silence of the server does not mean that it holds no longer. Undefined where there is none. */
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

  /** Never rejects. What another target has replaced meanwhile does not count. */
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
