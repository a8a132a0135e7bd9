/**
 * What Katalyst's objects say of eviction plugins for this node: settings, and who may register them. Once the server has such objects, the
 * node's CustomNodeConfig is watched, and what it names is read when its hash changes.
 */
import type { Subscription } from 'rxjs';
import type { ApiDiscovery, ApiServer } from '../../cluster/service/api-server.ts';
import { isServedInTime } from '../../cluster/watches/served.ts';
import { type WatchedObject, watchObject } from '../../cluster/watches/watched-object.ts';
import {
  type ClusterEvictionConfig,
  evictionConfigOf,
} from '../../policies/eviction-plugins/katalyst-config.ts';
import { type PluginUsers, pluginUsers } from '../../policies/eviction-plugins/plugin-users.ts';
import { shortLine } from '../../policies/formats/terminal-text.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { ObjectMeta } from '../../../types/kubernetes.ts';
import { ClusterObject } from './cluster-object.ts';

interface CustomNodeConfig {
  readonly metadata: ObjectMeta;
}

export interface ClusterSettingsParts {
  /** With the right to read such objects. */
  readonly api: Pick<ApiServer, 'get' | 'list' | 'watch'> & ApiDiscovery;
  readonly nodeName: string;
  /** Whether plugins must prove who they are. Otherwise the passwords are not read. */
  readonly wantsUsers: boolean;
}

const PROBLEM_MAX = 1000;

export class ClusterSettings {
  readonly #context: AgentContext;
  readonly #parts: ClusterSettingsParts;
  readonly #stop = new AbortController();
  readonly #qos: ClusterObject<ClusterEvictionConfig>;
  readonly #auth: ClusterObject<PluginUsers> | undefined;
  #watch: Subscription | undefined;
  #watchProblem: string | undefined;
  #problem: string | undefined;
  #onChange: () => void = () => undefined;

  constructor(context: AgentContext, parts: ClusterSettingsParts) {
    const { api, wantsUsers } = parts;
    this.#context = context;
    this.#parts = parts;
    const onProblem = () => this.#logProblem();
    this.#qos = new ClusterObject(context, {
      ...{ api, onProblem, resource: 'adminqosconfigurations' },
      valueOf: (object, origin) => ({ evictionConfig: evictionConfigOf(object), origin }),
      onChange: () => this.#onChange(),
    });
    this.#auth = wantsUsers
      ? new ClusterObject(context, { api, onProblem, resource: 'authconfigurations', valueOf: pluginUsers })
      : undefined;
  }

  /** As it was read last. Undefined where no object says anything. */
  get config(): ClusterEvictionConfig | undefined {
    return this.#qos.value;
  }

  /** Who may register plugins, as it was read last. Undefined where no object says so. */
  get users(): PluginUsers | undefined {
    return this.#auth?.value;
  }

  /** Why they may be out of date. */
  get problem(): string | undefined {
    return this.#problem;
  }

  start(onChange: () => void): void {
    this.#onChange = onChange;
    void this.#follow();
  }

  stop(): void {
    this.#stop.abort();
    this.#qos.stop();
    this.#auth?.stop();
    this.#watch?.unsubscribe();
  }

  /** Never rejects. */
  async #follow(): Promise<void> {
    const { clock, random } = this.#context;
    const { api, nodeName: name } = this.#parts;
    const { signal } = this.#stop;
    const options = { clock, random, signal };
    const isServed = await isServedInTime(api, 'customnodeconfigs', options).catch(() => false);
    if (!isServed || signal.aborted) return;
    const target = { resource: 'customnodeconfigs', name } as const;
    this.#watch = watchObject<CustomNodeConfig>(api, target, { clock, random }).subscribe((one) => {
      this.#seen(one);
    });
  }

  #seen({ isKnown, object, problem }: WatchedObject<CustomNodeConfig>): void {
    this.#watchProblem = problem;
    this.#logProblem();
    if (!isKnown) return;
    this.#qos.follow(object);
    this.#auth?.follow(object);
  }

  /** Logs each problem once. */
  #logProblem(): void {
    const problem = this.#watchProblem ?? this.#qos.problem ?? this.#auth?.problem;
    const shown = problem === undefined ? undefined : shortLine(problem, PROBLEM_MAX);
    if (shown !== undefined && shown !== this.#problem)
      this.#context.logger.warn({}, `Eviction plugins: settings of the cluster cannot be followed: ${shown}`);
    this.#problem = shown;
  }
}
