import type { PluginOffer } from '../../policies/eviction-plugins/plugin-registration.ts';
import type { EvictionPlugin } from '../../../types/eviction-plugin.ts';

export interface RegisteredPlugin {
  readonly name: string;
  /** The path of the socket at which it is asked. */
  readonly endpoint: string;
  /** As it has offered them. */
  readonly supportedVersions: readonly string[];
}

/** A plugin that its handler serves, until it is closed. */
export interface ServedPlugin {
  /** Called before the plugin gets the answer that it is registered. Returns why it is refused after all, since it has not proved who it is. */
  verify?(signal: AbortSignal): Promise<string | undefined>;
  /** The socket is gone, or another plugin has its name. */
  close(): void;
  /** Where the plugin is asked which pods to evict. */
  readonly eviction?: EvictionPlugin;
}

/**
 * Serves all plugins of one type. For each socket it is asked in this order, as a handler of the kubelet is: `problemOf` (ValidatePlugin),
 * `register` (RegisterPlugin), and `close` of what that returns (DeRegisterPlugin). Of two plugins of one name the later one replaces the
 * other, which is closed after the later one has been registered.
 */
export interface PluginHandler {
  /** Why the plugin is not taken; undefined where it is. */
  problemOf(offer: PluginOffer): string | undefined;
  /** Begins no call that has to be waited for. The plugin is refused where it throws. */
  register(plugin: RegisteredPlugin): ServedPlugin;
}

/** By type, as plugins name it: EvictionPlugin, DevicePlugin, CSIPlugin, DRAPlugin. */
export type PluginHandlers = ReadonlyMap<string, PluginHandler>;
