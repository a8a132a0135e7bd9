/** Messages of runtime.v1 about images and the runtime itself: field numbers as in `api.proto` of k8s.io/cri-api. */
import type {
  AuthConfig,
  FilesystemUsage,
  Image,
  ImageSpec,
  PodSandboxConfig,
  RuntimeCondition,
  RuntimeHandler,
  RuntimeHandlerFeatures,
  VersionResponse,
} from '../../../../types/cri.ts';
import {
  bool,
  enumeration,
  field,
  int,
  list,
  map,
  message,
  string,
  wrapped,
} from '../../../../system/protobuf.ts';
import { podSandboxConfig } from './sandbox-messages.ts';

/** A message without fields, or none of which is used here. */
export const empty = message<object>({});

export const versionResponse = message<VersionResponse>({
  runtimeName: field(2, string),
  runtimeVersion: field(3, string),
  runtimeApiVersion: field(4, string),
});

export type CgroupDriver = 'SYSTEMD' | 'CGROUPFS';

export type WireRuntimeCondition = Omit<RuntimeCondition, 'type'> & { readonly type: string };

interface WireStatus {
  readonly conditions: readonly WireRuntimeCondition[];
}

export interface WireFeatures {
  readonly supplementalGroupsPolicy: boolean;
}

/** Newer handlers may have other features, which are skipped. */
const runtimeHandler = message<RuntimeHandler>({
  name: field(1, string),
  features: field(
    2,
    message<RuntimeHandlerFeatures>({
      recursiveReadOnlyMounts: field(1, bool),
      userNamespaces: field(2, bool),
    }),
  ),
});

/** By CRI's numbers SYSTEMD is 0: a runtime that omits the field uses systemd. */
export const runtimeConfigResponse = message<{ linux?: { readonly cgroupDriver: CgroupDriver } }>({
  linux: field(
    1,
    message<{ readonly cgroupDriver: CgroupDriver }>({
      cgroupDriver: field(1, enumeration(['SYSTEMD', 'CGROUPFS'])),
    }),
  ),
});

/** `verbose`: with `info`. */
export const statusRequest = message<{ readonly verbose?: boolean }>({ verbose: field(1, bool) });

export const statusResponse = message<{
  status?: WireStatus;
  info?: Readonly<Record<string, string>>;
  handlers: readonly RuntimeHandler[];
  features?: WireFeatures;
}>({
  info: map(2),
  handlers: list(3, runtimeHandler),
  features: field(4, message<WireFeatures>({ supplementalGroupsPolicy: field(1, bool) })),
  status: field(
    1,
    message<WireStatus>({
      conditions: list(
        1,
        message<WireRuntimeCondition>({
          type: field(1, string),
          status: field(2, bool),
          reason: field(3, string),
          message: field(4, string),
        }),
      ),
    }),
  ),
});

export const imageSpec = message<ImageSpec>({
  image: field(1, string),
  annotations: map(2),
  userSpecifiedImage: field(18, string),
});

const image = message<Image>({
  id: field(1, string),
  repoTags: list(2, string),
  repoDigests: list(3, string),
  size: field(4, int),
  uid: field(5, wrapped(int)),
  username: field(6, string),
  pinned: field(8, bool),
});

export const imageRequest = message<{ image: ImageSpec }>({ image: field(1, imageSpec) });
export const imageStatusResponse = message<{ image?: Image }>({ image: field(1, image) });
export const listImagesResponse = message<{ images: readonly Image[] }>({ images: list(1, image) });

export const pullImageRequest = message<{
  image: ImageSpec;
  auth?: AuthConfig;
  sandboxConfig?: PodSandboxConfig;
}>({
  image: field(1, imageSpec),
  auth: field(
    2,
    message<AuthConfig>({
      username: field(1, string),
      password: field(2, string),
      auth: field(3, string),
      serverAddress: field(4, string),
      identityToken: field(5, string),
      registryToken: field(6, string),
    }),
  ),
  sandboxConfig: field(3, podSandboxConfig),
});

export const pullImageResponse = message<{ imageRef: string }>({ imageRef: field(1, string) });

export const filesystemUsage = message<FilesystemUsage>({
  timestamp: field(1, int),
  mountpoint: field(2, wrapped(string, '')),
  usedBytes: field(3, wrapped(int, 0)),
  inodesUsed: field(4, wrapped(int, 0)),
});

export const imageFsInfoResponse = message<{
  imageFilesystems: readonly FilesystemUsage[];
  containerFilesystems: readonly FilesystemUsage[];
}>({
  imageFilesystems: list(1, filesystemUsage),
  containerFilesystems: list(2, filesystemUsage),
});
