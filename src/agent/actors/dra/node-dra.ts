import type { PluginHandlers } from '../../plugins/registration/plugin-handler.ts';

/** The DRA drivers and the claims that they prepare, as the agent sees them. */
export interface NodeDra {
  /** No driver of an earlier agent is connected: the cluster is told so. */
  start(): void;
  /** The agent ends, not the drivers: they can still be asked. */
  beginStop(): void;
  /** No pod is worked on any more. */
  stop(): void;
  /** For a watcher of the folder of plugins. */
  readonly handlers: PluginHandlers;
}
