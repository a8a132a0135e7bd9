import type { PluginHandlers } from '../../plugins/registration/plugin-handler.ts';

export interface DevicePluginView {
  readonly resource: string;
  readonly state: string;
  /** Unix ms. */
  readonly since: number;
  readonly problem: string | undefined;
  readonly deviceCount: number;
  readonly healthyCount: number;
}

/** The device plugins, as the agent sees them. */
export interface NodeDevicePlugins {
  /** The pods of this node are known. */
  start(): void;
  /** Resolves when nothing of it is under way any more. */
  stop(): Promise<void>;
  /** For a watcher of the folder of plugins. */
  readonly handlers: PluginHandlers;
  views(): readonly DevicePluginView[];
}
