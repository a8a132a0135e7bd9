/**
 * Settings of eviction plugins that Katalyst's objects have for this node. Whether the server has such objects is asked once; then the node's
 * CustomNodeConfig is watched, and what it names is read when its hash changes.
 */
import type { Subscription } from 'rxjs';
import type { ApiDiscovery, ApiServer } from '../../cluster/service/api-server.ts';
import { isServedThere } from '../../cluster/watches/served.ts';
import { type WatchedObject, watchObject } from '../../cluster/watches/watched-object.ts';
import {
  type ClusterEvictionConfig,
  type ConfigTarget,
  configTarget,
  evictionConfigOf,
  isSameTarget,
  targetText,
} from '../../policies/eviction-plugins/katalyst-config.ts';
import { shortLine } from '../../policies/formats/terminal-text.ts';
import { Timer } from '../../../system/timer.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { ObjectMeta } from '../../../types/kubernetes.ts';

interface CustomNodeConfig {
  readonly metadata: ObjectMeta;
}

export interface ClusterSettingsParts {
  /** With the right to read such objects. */
  readonly api: Pick<ApiServer, 'get' | 'list' | 'watch'> & ApiDiscovery;
  readonly nodeName: string;
}

const READ_TIMEOUT_MS = 30_000;
const READ_AGAIN_MS = 30_000;
const PROBLEM_MAX = 1000;

export class ClusterSettings {
  readonly #context: AgentContext;
  readonly #parts: ClusterSettingsParts;
  readonly #stop = new AbortController();
  readonly #timer: Timer;
  #watch: Subscription | undefined;
  #target: ConfigTarget | undefined;
  #config: ClusterEvictionConfig | undefined;
  #problem: string | undefined;
  #onChange: () => void = () => undefined;

  constructor(context: AgentContext, parts: ClusterSettingsParts) {
    this.#context = context;
    this.#parts = parts;
    this.#timer = new Timer(context.clock);
  }

  /** As it was read last: silence of the server does not mean that it holds no longer. Undefined where there is none. */
  get config(): ClusterEvictionConfig | undefined {
    return this.#config;
  }

  /** Why it may be out of date. */
  get problem(): string | undefined {
    return this.#problem;
  }

  start(onChange: () => void): void {
    this.#onChange = onChange;
    void this.#follow();
  }

  stop(): void {
    this.#stop.abort();
    this.#timer.disarm();
    this.#watch?.unsubscribe();
  }

  /** Never rejects. */
  async #follow(): Promise<void> {
    const { clock, random } = this.#context;
    const { api, nodeName: name } = this.#parts;
    const { signal } = this.#stop;
    const isServed = await isServedThere(api, 'customnodeconfigs', { clock, signal }).catch(() => false);
    if (!isServed || signal.aborted) return;
    const watched = watchObject<CustomNodeConfig>(
      api,
      { resource: 'customnodeconfigs', name },
      { clock, random },
    );
    this.#watch = watched.subscribe((one) => this.#seen(one));
  }

  #seen({ isKnown, object, problem }: WatchedObject<CustomNodeConfig>): void {
    this.#tell(problem);
    if (!isKnown) return;
    const target = configTarget(object);
    if (isSameTarget(target, this.#target)) return;
    this.#target = target;
    this.#timer.disarm();
    if (target === undefined) this.#set(undefined);
    else void this.#read(target);
  }

  /** Never rejects. What another target has replaced meanwhile does not count. */
  async #read(target: ConfigTarget): Promise<void> {
    const { name, namespace } = target;
    const { signal } = this.#stop;
    try {
      const reference = { resource: 'adminqosconfigurations', name, namespace } as const;
      const object = await this.#parts.api.get(reference, { signal, timeoutMs: READ_TIMEOUT_MS });
      if (this.#target !== target || signal.aborted) return;
      this.#tell(undefined);
      this.#set({ evictionConfig: evictionConfigOf(object), origin: targetText(target) });
    } catch (error) {
      if (this.#target !== target || signal.aborted) return;
      this.#tell(`${targetText(target)} cannot be read: ${errorMessage(error)}`);
      this.#timer.arm(READ_AGAIN_MS, () => void this.#read(target));
    }
  }

  #set(config: ClusterEvictionConfig | undefined): void {
    this.#config = config;
    this.#onChange();
  }

  /** Each problem is a line once. */
  #tell(problem: string | undefined): void {
    const shown = problem === undefined ? undefined : shortLine(problem, PROBLEM_MAX);
    if (shown !== undefined && shown !== this.#problem)
      this.#context.logger.warn({}, `Eviction plugins: settings of the cluster cannot be followed: ${shown}`);
    this.#problem = shown;
  }
}
