/** Settings of eviction plugins that follow the configuration files while the daemon runs, and where each value comes from. */
import { dirname } from 'node:path';
import type { FollowedSettings } from '../../agent/actors/plugins/plugin-parts.ts';
import type { StateletConfig } from '../../agent/config/config.ts';
import { explainedSettings } from '../../agent/config/load-eviction-plugin-settings.ts';
import type { PassSettings } from '../../agent/policies/eviction-plugins/plugin-pass.ts';
import type { ExplainedPluginSetting } from '../../agent/policies/eviction-plugins/plugins-explanation.ts';
import { type KernelWatch, kernelWatch } from '../../system/kernel-watch.ts';
import { Timer } from '../../system/timer.ts';
import type { AgentContext } from '../../types/agent-context.ts';
import type { BuiltInSettings } from '../../types/built-in-thresholds.ts';
import { errorMessage } from '../../types/errors.ts';

type Configured = Pick<StateletConfig, 'evictionPlugins' | 'given'>;

/** After an event: programs write a file in several steps. */
const QUIET_MS = 300;
/** Where no event came: events can be lost. */
const CHECK_MS = 60_000;

export class FollowedPluginSettings implements FollowedSettings {
  readonly #context: AgentContext;
  readonly #timer: Timer;
  #config: Configured;
  #problem: string | undefined;
  #watches: readonly KernelWatch[] = [];
  #reading: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(context: AgentContext, config: Configured) {
    this.#context = context;
    this.#timer = new Timer(context.clock);
    this.#config = config;
  }

  get current(): PassSettings {
    return this.#config.evictionPlugins;
  }

  /** Of the built-in plugins. */
  get builtIn(): BuiltInSettings {
    return this.#config.evictionPlugins.builtIn;
  }

  get explained(): readonly ExplainedPluginSetting[] {
    const { given, evictionPlugins } = this.#config;
    return explainedSettings(evictionPlugins, given);
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  start(): void {
    const { config = '', configDir = '' } = this.#config.given.flags;
    const folders = new Set([
      ...(config === '' ? [] : [dirname(config)]),
      ...(configDir === '' ? [] : [configDir]),
    ]);
    if (folders.size === 0) return;
    this.#watches = [...folders].map((folder) => kernelWatch(folder, () => this.#plan(QUIET_MS)));
    this.#plan(CHECK_MS);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer.disarm();
    for (const watch of this.#watches) watch.close();
    await this.#reading;
  }

  #plan(delayMs: number): void {
    if (this.#isStopped) return;
    this.#timer.arm(delayMs, () => {
      this.#reading = this.#read().finally(() => this.#plan(CHECK_MS));
    });
  }

  /** Files that are not valid change nothing. */
  async #read(): Promise<void> {
    const { logger } = this.#context;
    const { flags } = this.#config.given;
    try {
      const { configurationLayers, resolveLayers } =
        await import('../../agent/config/kubelet/configuration-layers.ts');
      const { layers } = await configurationLayers(flags);
      const before = this.explained;
      const { evictionPlugins, given } = resolveLayers(flags, layers);
      this.#config = { evictionPlugins, given };
      this.#problem = undefined;
      for (const [index, { name, value, from }] of this.explained.entries())
        if (before[index]?.value !== value)
          logger.info(
            { setting: name, value, from },
            `Eviction plugins: ${name} is now ${value || 'empty'}, from ${from}`,
          );
    } catch (error) {
      const problem = errorMessage(error);
      if (problem === this.#problem) return;
      this.#problem = problem;
      logger.warn(
        {},
        `Eviction plugins: the configuration has changed and is not valid, so settings stay: ${problem}`,
      );
    }
  }
}
