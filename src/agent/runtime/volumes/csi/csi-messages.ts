/** The messages and methods of CSI, version 1: what a node asks of a driver. */
import type { Method } from '../../../../system/grpc/method.ts';
import { bool, enumeration, field, int, list, map, message, string } from '../../../../system/protobuf.ts';
import {
  CSI_ACCESS_MODES,
  CSI_CAPABILITIES,
  type CsiCapability,
  type CsiVolumeCapability,
} from '../../../policies/volumes/csi-source.ts';
import { type CsiUsage, USAGE_UNITS } from '../../../policies/volumes/csi-figures.ts';

type Texts = Readonly<Record<string, string>>;

export interface CsiNodeInfo {
  readonly nodeId: string;
  /** 0: no limit is known. */
  readonly maxVolumes: number;
  readonly topology: { readonly segments: Texts } | undefined;
}

export interface StageRequest {
  readonly volumeId: string;
  readonly publishContext: Texts;
  readonly stagingPath: string;
  readonly capability: CsiVolumeCapability;
  readonly secrets: Texts;
  readonly volumeContext: Texts;
}

export interface PublishRequest extends StageRequest {
  readonly targetPath: string;
  readonly readonly: boolean;
}

interface CapabilitiesAnswer {
  readonly capabilities: readonly { readonly rpc: { readonly type: CsiCapability } | undefined }[];
}

export interface ExpandRequest extends Pick<
  StageRequest,
  'volumeId' | 'stagingPath' | 'capability' | 'secrets'
> {
  /** Where it is published. */
  readonly volumePath: string;
  readonly range: { readonly requiredBytes: number };
}

export interface StatsRequest {
  readonly volumeId: string;
  readonly path: string;
}

const empty = message<object>({});

const capability = message<CsiVolumeCapability>({
  block: field(1, empty),
  mount: field(
    2,
    message<NonNullable<CsiVolumeCapability['mount']>>({
      fsType: field(1, string),
      mountFlags: list(2, string),
      volumeMountGroup: field(3, string),
    }),
  ),
  accessMode: field(
    3,
    message<CsiVolumeCapability['accessMode']>({ mode: field(1, enumeration(CSI_ACCESS_MODES)) }),
  ),
});

const ofNode = (name: string) => ({ name, path: `/csi.v1.Node/${name}` });

export const NODE_GET_INFO: Method<object, CsiNodeInfo> = {
  ...ofNode('NodeGetInfo'),
  request: empty,
  response: message<CsiNodeInfo>({
    nodeId: field(1, string),
    maxVolumes: field(2, int),
    topology: field(3, message<{ segments: Texts }>({ segments: map(1) })),
  }),
};

export const NODE_GET_CAPABILITIES: Method<object, CapabilitiesAnswer> = {
  ...ofNode('NodeGetCapabilities'),
  request: empty,
  response: message<CapabilitiesAnswer>({
    capabilities: list(
      1,
      message<CapabilitiesAnswer['capabilities'][number]>({
        rpc: field(1, message<{ type: CsiCapability }>({ type: field(1, enumeration(CSI_CAPABILITIES)) })),
      }),
    ),
  }),
};

export const NODE_GET_STATS: Method<StatsRequest, { readonly usage: readonly CsiUsage[] }> = {
  ...ofNode('NodeGetVolumeStats'),
  request: message<StatsRequest>({ volumeId: field(1, string), path: field(2, string) }),
  response: message<{ usage: readonly CsiUsage[] }>({
    usage: list(
      1,
      message<CsiUsage>({
        available: field(1, int),
        total: field(2, int),
        used: field(3, int),
        unit: field(4, enumeration(USAGE_UNITS)),
      }),
    ),
  }),
};

export const NODE_EXPAND: Method<ExpandRequest, object> = {
  ...ofNode('NodeExpandVolume'),
  request: message<ExpandRequest>({
    volumeId: field(1, string),
    volumePath: field(2, string),
    range: field(3, message<ExpandRequest['range']>({ requiredBytes: field(1, int) })),
    stagingPath: field(4, string),
    capability: field(5, capability),
    secrets: map(6),
  }),
  response: empty,
};

export const NODE_STAGE: Method<StageRequest, object> = {
  ...ofNode('NodeStageVolume'),
  request: message<StageRequest>({
    volumeId: field(1, string),
    publishContext: map(2),
    stagingPath: field(3, string),
    capability: field(4, capability),
    secrets: map(5),
    volumeContext: map(6),
  }),
  response: empty,
};

export const NODE_UNSTAGE: Method<Pick<StageRequest, 'volumeId' | 'stagingPath'>, object> = {
  ...ofNode('NodeUnstageVolume'),
  request: message<Pick<StageRequest, 'volumeId' | 'stagingPath'>>({
    volumeId: field(1, string),
    stagingPath: field(2, string),
  }),
  response: empty,
};

export const NODE_PUBLISH: Method<PublishRequest, object> = {
  ...ofNode('NodePublishVolume'),
  request: message<PublishRequest>({
    volumeId: field(1, string),
    publishContext: map(2),
    stagingPath: field(3, string),
    targetPath: field(4, string),
    capability: field(5, capability),
    readonly: field(6, bool),
    secrets: map(7),
    volumeContext: map(8),
  }),
  response: empty,
};

export const NODE_UNPUBLISH: Method<Pick<PublishRequest, 'volumeId' | 'targetPath'>, object> = {
  ...ofNode('NodeUnpublishVolume'),
  request: message<Pick<PublishRequest, 'volumeId' | 'targetPath'>>({
    volumeId: field(1, string),
    targetPath: field(2, string),
  }),
  response: empty,
};
