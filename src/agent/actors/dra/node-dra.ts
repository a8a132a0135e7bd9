import type { PluginHandlers } from '../../plugins/registration/plugin-handler.ts';

/** The DRA drivers and the claims that they prepare, as the agent sees them. */
export interface NodeDra {
  /** Deletes the ResourceSlices of drivers that an earlier agent had. */
  start(): void;
  /** The agent ends, not the drivers: calls still work. */
  beginStop(): void;
  /** No pod is worked on any more. */
  stop(): void;
  /** For a watcher of the folder of plugins. */
  readonly handlers: PluginHandlers;
}
