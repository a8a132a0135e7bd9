import type { RuntimeService } from '../runtime-service.ts';
import { unlessNotFound } from '../unless-not-found.ts';
import type { Channel } from './channel.ts';
import { IMAGE_FS_INFO, IMAGE_STATUS, LIST_IMAGES, PULL_IMAGE, REMOVE_IMAGE } from './methods.ts';

type ImageCalls = Pick<
  RuntimeService,
  'pullImage' | 'imageStatus' | 'listImages' | 'removeImage' | 'imageFsInfo' | 'containerFsInfo'
>;

/** CRI's ImageService. A pull has no limit of time: whoever asks for it gives it up. */
export function imageCalls(channel: Channel, timeoutMs: number): ImageCalls {
  return {
    pullImage: async (image, { auth, sandboxConfig, signal } = {}) =>
      (await channel.call(PULL_IMAGE, { image, auth, sandboxConfig }, { signal })).imageRef,
    imageStatus: async (image, options) =>
      (await channel.call(IMAGE_STATUS, { image }, { timeoutMs, ...options })).image,
    listImages: async (options) => (await channel.call(LIST_IMAGES, {}, { timeoutMs, ...options })).images,
    removeImage: async (image, options) => {
      await unlessNotFound(channel.call(REMOVE_IMAGE, { image }, { timeoutMs, ...options }));
    },
    imageFsInfo: async (options) =>
      (await channel.call(IMAGE_FS_INFO, {}, { timeoutMs, ...options })).imageFilesystems,
    containerFsInfo: async (options) =>
      (await channel.call(IMAGE_FS_INFO, {}, { timeoutMs, ...options })).containerFilesystems,
  };
}
