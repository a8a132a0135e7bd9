import type { PluginHandlers } from '../../plugins/registration/plugin-handler.ts';
import type { DevicePluginView } from './device-plugins.ts';

/** The device plugins, as the agent sees them. */
export interface NodeDevicePlugins {
  /** The pods of this node are known. */
  start(): void;
  /** Resolves when nothing of it goes on. */
  stop(): Promise<void>;
  /** For a watcher of the folder of plugins. */
  readonly handlers: PluginHandlers;
  views(): readonly DevicePluginView[];
}
