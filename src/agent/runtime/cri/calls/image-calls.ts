import type { ImageSpec, PodSandboxConfig } from '../../../../types/cri.ts';
import { type CallOptions, type RuntimeService, unlessNotFound } from '../../service/runtime-service.ts';
import type { Channel } from './channel.ts';
import { IMAGE_FS_INFO, IMAGE_STATUS, LIST_IMAGES, PULL_IMAGE, REMOVE_IMAGE } from '../messages/methods.ts';

type ImageCalls = Pick<
  RuntimeService,
  'pullImage' | 'imageStatus' | 'listImages' | 'removeImage' | 'imageFsInfo' | 'containerFsInfo'
>;

type FsInfo = Promise<ReturnType<(typeof IMAGE_FS_INFO)['response']['decode']>>;

/** The calls of CRI's ImageService. A pull has no time limit: its caller aborts it. */
export function imageCalls(channel: Channel, timeoutMs: number): ImageCalls {
  let asked: { readonly signal: AbortSignal | undefined; readonly answer: FsInfo } | undefined;
  /** Callers that ask at the same time share one call, for images and for containers. */
  const fsInfo = (options: CallOptions = {}): FsInfo => {
    const { signal } = options;
    if (asked !== undefined && asked.signal === signal) return asked.answer;
    const answer = channel.call(IMAGE_FS_INFO, {}, { timeoutMs, ...options });
    const own = { signal, answer };
    asked = own;
    const forget = () => {
      if (asked === own) asked = undefined;
    };
    answer.then(forget, forget);
    return answer;
  };
  return {
    pullImage: async (image, { auth, sandboxConfig, signal } = {}) =>
      (
        await channel.call(
          PULL_IMAGE,
          { image: specOf(image, sandboxConfig), auth, sandboxConfig },
          { signal },
        )
      ).imageRef,
    imageStatus: async (image, { signal, ...pod } = {}) =>
      (await channel.call(IMAGE_STATUS, { image: specOf(image, pod) }, { timeoutMs, signal })).image,
    listImages: async (options) => (await channel.call(LIST_IMAGES, {}, { timeoutMs, ...options })).images,
    removeImage: async (image, options) => {
      await unlessNotFound(channel.call(REMOVE_IMAGE, { image: { image } }, { timeoutMs, ...options }));
    },
    imageFsInfo: async (options) => (await fsInfo(options)).imageFilesystems,
    containerFsInfo: async (options) => (await fsInfo(options)).containerFilesystems,
  };
}

/** The image's name with the annotations of its pod. */
function specOf(
  image: string,
  { annotations }: Partial<Pick<PodSandboxConfig, 'annotations'>> = {},
): ImageSpec {
  return { image, annotations };
}
