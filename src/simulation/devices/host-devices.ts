import type { DevicesJudge } from '../judges/devices-judge.ts';
import type { DevicePluginFolder } from './device-plugin-folder.ts';
import type { DevicesPlan } from './devices-plan.ts';

/** The devices of a simulated node: they outlive its agents. */
export interface HostDevices {
  readonly plan: DevicesPlan;
  readonly folder: DevicePluginFolder;
  readonly judge: DevicesJudge;
}
