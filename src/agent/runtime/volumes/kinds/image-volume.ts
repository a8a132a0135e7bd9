import type { VolumeKind } from './volume-kind.ts';

/** An image that the runtime mounts. It is not labelled for SELinux, as other pods use it too. */
export const imageKind: VolumeKind = {
  setUp: () => Promise.resolve(),
  mount: ({ pod, volume }, { subPath = [], ...plan }, image) => ({
    ...plan,
    hostPath: '',
    selinuxRelabel: false,
    image: {
      image,
      userSpecifiedImage: volume.image?.reference ?? '',
      annotations: pod.metadata.annotations,
    },
    ...(subPath.length > 0 && { imageSubPath: subPath.join('/') }),
  }),
};
