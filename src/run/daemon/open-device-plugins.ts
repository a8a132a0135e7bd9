/** Puts together what a node needs of device plugins. Loaded only where pods can have devices. */
import { DevicePlugins, type DevicePluginsCore } from '../../agent/actors/devices/device-plugins.ts';
import type { NodeDevicePlugins } from '../../agent/actors/devices/node-device-plugins.ts';
import { Plugins } from '../../agent/actors/plugins/plugin-directory.ts';
import type { PluginHandlers } from '../../agent/plugins/registration/plugin-handler.ts';
import { registrationClient } from '../../agent/plugins/protocol/registration-client.ts';
import type { DeviceManager } from '../../agent/runtime/devices/device-manager.ts';
import { RegistrationSocket } from '../../agent/runtime/devices/registration-socket.ts';
import { RemoteDevicePlugin } from '../../agent/runtime/devices/remote-device-plugin.ts';

export interface DevicePluginsDeps {
  readonly devices: DeviceManager;
  /** The folder of sockets of plugins of all types; undefined where another part of the agent watches it. */
  readonly registryDir: string | undefined;
  /** Of plugins of other types in that folder. */
  readonly others: PluginHandlers;
}

export function openDevicePlugins(
  core: DevicePluginsCore,
  { devices, registryDir, others }: DevicePluginsDeps,
): NodeDevicePlugins {
  const plugins = new DevicePlugins(core, {
    devices,
    listen: (register) => new RegistrationSocket(devices.folder, register),
    connect: (resource, endpoint) => new RemoteDevicePlugin(resource, endpoint),
  });
  const { handlers } = plugins;
  const watcher =
    registryDir === undefined
      ? undefined
      : new Plugins(core, {
          registryDir,
          handlers: new Map([...handlers, ...others]),
          builtIn: [],
          openRegistration: registrationClient,
        });
  return {
    handlers,
    views: () => plugins.views(),
    start: () => {
      plugins.start();
      watcher?.start();
    },
    stop: async () => {
      await watcher?.stop();
      await plugins.stop();
    },
  };
}
