import { podOfUID } from '../node/compose-node.ts';
import type { PodSubsystem } from '../node/pod-node.ts';
import type { DeviceManager } from './device-manager.ts';

/** Adds devices to the configurations of containers. The topology manager has set them aside. */
export function deviceSubsystem(devices: DeviceManager): PodSubsystem {
  return {
    name: 'devices',
    container: ({ pod, container }) => devices.additions(pod, container),
    podsOnDisk: () => Promise.resolve(devices.holders.map(podOfUID)),
  };
}
