import { type Devices, healthyIds } from '../../policies/devices/device-list.ts';
import type { PluginResources } from '../../policies/node/machine-resources.ts';
import type { DevicePlugin } from './remote-device-plugin.ts';

interface Resource {
  /** The plugin's last list. */
  readonly devices: Devices;
  readonly plugin: DevicePlugin | undefined;
  /** Its plugin does not serve any more: none of its devices is given to containers. */
  readonly isGone: boolean;
}

const NO_DEVICES: Devices = new Map();

/** The devices that plugins have listed, by resource. */
export class DeviceStock {
  readonly #resources = new Map<string, Resource>();
  /** Resources whose plugin has been gone too long: the node reports 0 of them. */
  readonly #forgotten = new Set<string>();

  /** The checkpoint of a former agent has the resource: the node reports 0 of it until a plugin registers. */
  recall(resource: string): void {
    this.#resources.set(resource, { devices: NO_DEVICES, plugin: undefined, isGone: true });
  }

  connected(resource: string, plugin: DevicePlugin): void {
    const devices = this.#resources.get(resource)?.devices ?? NO_DEVICES;
    this.#resources.set(resource, { devices, plugin, isGone: true });
  }

  listed(resource: string, devices: Devices): void {
    const { plugin } = this.#resources.get(resource) ?? { plugin: undefined };
    this.#forgotten.delete(resource);
    this.#resources.set(resource, { devices, plugin, isGone: false });
  }

  gone(resource: string): void {
    const known = this.#resources.get(resource);
    if (known) this.#resources.set(resource, { ...known, isGone: true });
  }

  forget(resource: string): void {
    if (this.#resources.delete(resource)) this.#forgotten.add(resource);
  }

  has(resource: string): boolean {
    return this.#resources.has(resource);
  }

  get names(): readonly string[] {
    return [...this.#resources.keys()];
  }

  /** Undefined where no plugin serves it now. */
  servedDevices(resource: string): Devices | undefined {
    const known = this.#resources.get(resource);
    return known?.isGone === false ? known.devices : undefined;
  }

  /** Of a resource whose plugin is gone, no device is healthy. Undefined: the resource is not known. */
  devices(resource: string): Devices | undefined {
    const known = this.#resources.get(resource);
    if (known?.isGone !== true) return known?.devices;
    return new Map(Array.from(known.devices, ([id, device]) => [id, { ...device, isHealthy: false }]));
  }

  plugin(resource: string): DevicePlugin | undefined {
    return this.#resources.get(resource)?.plugin;
  }

  healthy(resource: string): readonly string[] {
    const devices = this.servedDevices(resource);
    return devices ? healthyIds(devices) : [];
  }

  /** The amounts that the Node object reports. */
  resources(): PluginResources {
    const all = [...this.#resources];
    return {
      capacity: Object.fromEntries(all.map(([name, { devices }]) => [name, String(devices.size)])),
      allocatable: Object.fromEntries(all.map(([name]) => [name, String(this.healthy(name).length)])),
      removed: [...this.#forgotten],
    };
  }
}
