/** The messages and methods of device plugins, `v1beta1`. */
import type { Method } from '../../../system/grpc/method.ts';
import { bool, field, int, list, map, message, string } from '../../../system/protobuf.ts';
import type { ListedDevice } from '../../policies/devices/device-list.ts';
import type {
  AllocatedContainer,
  DeviceSpec,
  PluginMount,
} from '../../policies/devices/container-devices.ts';

export interface DevicePluginOptions {
  readonly preStartRequired: boolean;
  readonly getPreferredAllocationAvailable: boolean;
}

export interface RegisterRequest {
  readonly version: string;
  /** The name of its socket in the folder of device plugins. */
  readonly endpoint: string;
  readonly resourceName: string;
}

const empty = message<object>({});

export const deviceList = message<{ devices: readonly ListedDevice[] }>({
  devices: list(
    1,
    message<ListedDevice>({
      ID: field(1, string),
      health: field(2, string),
      topology: field(
        3,
        message<NonNullable<ListedDevice['topology']>>({
          nodes: list(1, message<{ ID: number }>({ ID: field(1, int) })),
        }),
      ),
    }),
  ),
});

/** Also as the checkpoint has it. */
export const allocatedContainer = message<AllocatedContainer>({
  envs: map(1),
  mounts: list(
    2,
    message<PluginMount>({
      containerPath: field(1, string),
      hostPath: field(2, string),
      readOnly: field(3, bool),
    }),
  ),
  devices: list(
    3,
    message<DeviceSpec>({
      containerPath: field(1, string),
      hostPath: field(2, string),
      permissions: field(3, string),
    }),
  ),
  annotations: map(4),
  cdiDevices: list(5, message<{ name: string }>({ name: field(1, string) })),
});

const options = message<DevicePluginOptions>({
  preStartRequired: field(1, bool),
  getPreferredAllocationAvailable: field(2, bool),
});

export const REGISTER: Method<RegisterRequest, object> = {
  name: 'Register',
  path: '/v1beta1.Registration/Register',
  request: message<RegisterRequest>({
    version: field(1, string),
    endpoint: field(2, string),
    resourceName: field(3, string),
  }),
  response: empty,
};

const ofPlugin = (name: string) => ({ name, path: `/v1beta1.DevicePlugin/${name}` });

export const GET_OPTIONS: Method<object, DevicePluginOptions> = {
  ...ofPlugin('GetDevicePluginOptions'),
  request: empty,
  response: options,
};

export const LIST_AND_WATCH: Method<object, { devices: readonly ListedDevice[] }> = {
  ...ofPlugin('ListAndWatch'),
  request: empty,
  response: deviceList,
};

interface PreferredRequest {
  readonly available: readonly string[];
  readonly mustInclude: readonly string[];
  readonly size: number;
}

export const GET_PREFERRED_ALLOCATION: Method<
  { readonly containers: readonly PreferredRequest[] },
  { readonly containers: readonly { readonly ids: readonly string[] }[] }
> = {
  ...ofPlugin('GetPreferredAllocation'),
  request: message({
    containers: list(
      1,
      message<PreferredRequest>({
        available: list(1, string),
        mustInclude: list(2, string),
        size: field(3, int),
      }),
    ),
  }),
  response: message({ containers: list(1, message<{ ids: readonly string[] }>({ ids: list(1, string) })) }),
};

export const ALLOCATE: Method<
  { readonly containers: readonly { readonly ids: readonly string[] }[] },
  { readonly containers: readonly AllocatedContainer[] }
> = {
  ...ofPlugin('Allocate'),
  request: message({ containers: list(1, message<{ ids: readonly string[] }>({ ids: list(1, string) })) }),
  response: message({ containers: list(1, allocatedContainer) }),
};

export const PRE_START_CONTAINER: Method<{ readonly ids: readonly string[] }, object> = {
  ...ofPlugin('PreStartContainer'),
  request: message({ ids: list(1, string) }),
  response: empty,
};
