/**
 * `statelet/eviction-plugin`: an eviction plugin in TypeScript or JavaScript, for Statelet and for every other agent that speaks Katalyst's
 * protocol. A plugin is a process of its own. It is a name and a function for each question that it answers; sockets, registration, errors
 * and shutdown are done here. docs/eviction-plugins.md shows one.
 */
import type { EvictionPluginDefinition, EvictionPluginOptions, RunningEvictionPlugin } from './plugin-api.ts';
import { serveDefinition } from './served-plugin.ts';

export type * from './plugin-api.ts';

/**
 * Resolves when the plugin's socket is there; that waits for the folder. Rejects when the definition is wrong, and when another process
 * serves a plugin of that name in the folder. If the socket is removed later, it is made again.
 */
export function startEvictionPlugin(
  definition: EvictionPluginDefinition,
  options: EvictionPluginOptions = {},
): Promise<RunningEvictionPlugin> {
  return serveDefinition(definition, options);
}
