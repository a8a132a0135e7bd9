/** A folder for sockets of plugins, and plugins of the kit in this process. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type EvictionPluginDefinition,
  type RunningEvictionPlugin,
  startEvictionPlugin,
} from '../../src/eviction-plugin-kit/eviction-plugin-kit.ts';
import { PluginClient } from './plugin-client.ts';

export class KitBed {
  readonly dir = mkdtempSync(join(tmpdir(), 'statelet-kit-'));
  readonly registryDir = join(this.dir, 'plugins_registry');
  /** What the plugins have told, without the time. */
  readonly log: string[] = [];
  readonly #plugins: RunningEvictionPlugin[] = [];
  readonly #clients: PluginClient[] = [];

  constructor() {
    mkdirSync(this.registryDir);
  }

  async start(definition: Partial<EvictionPluginDefinition> = {}): Promise<RunningEvictionPlugin> {
    const whole = { name: 'chooser', evictPods: () => undefined, ...definition };
    const plugin = await startEvictionPlugin(whole, {
      registryDir: this.registryDir,
      handleSignals: false,
      log: (line) => this.log.push(line.replace(/^\S+ /u, '')),
    });
    this.#plugins.push(plugin);
    return plugin;
  }

  connect({ socket }: { readonly socket: string }): PluginClient {
    const client = new PluginClient(socket);
    this.#clients.push(client);
    return client;
  }

  async cleanUp(): Promise<void> {
    for (const client of this.#clients) client.close();
    await Promise.all(this.#plugins.map(async (plugin) => plugin.stop()));
    rmSync(this.dir, { recursive: true });
  }
}
