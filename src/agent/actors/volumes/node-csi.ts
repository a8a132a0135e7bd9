import type { PluginHandlers } from '../../plugins/registration/plugin-handler.ts';

/** The CSI drivers and their volumes, as the agent sees them. */
export interface NodeCsi {
  /** All pods of this node are known. */
  podsKnown(): void;
  /** The agent ends, not the drivers: they stay in Node and CSINode. */
  beginStop(): void;
  /** No pod is worked on any more. */
  stop(): void;
  /** For a watcher of the folder of plugins. */
  readonly handlers: PluginHandlers;
  /** For the node's status; undefined while it is not known. */
  volumesInUse(): readonly string[] | undefined;
}
