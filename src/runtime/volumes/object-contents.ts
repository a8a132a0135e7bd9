import { configMapFiles, secretFiles, tokenFile } from '../../policies/volumes/object-files.ts';
import { unlessAborted } from '../../system/unless-aborted.ts';
import type { ApiObjects } from '../../types/api-objects.ts';
import type { VolumeContents, VolumeContentsByKind } from './volume-contents.ts';

/** Files from the objects of an API server. */
export function objectContents(objects: ApiObjects): VolumeContentsByKind {
  const configMap: VolumeContents = {
    files: async ({ configMap: source = {} }, { pod, defaultMode }, signal) => {
      const object = await unlessAborted(
        objects.configMap(pod.metadata.namespace, source.name ?? ''),
        signal,
      );
      return object && configMapFiles(object, source, defaultMode);
    },
  };
  const secret: VolumeContents = {
    files: async ({ secret: source = {} }, { pod, defaultMode }, signal) => {
      const object = await unlessAborted(objects.secret(pod.metadata.namespace, source.name ?? ''), signal);
      return object && secretFiles(object, source, defaultMode);
    },
  };
  const serviceAccountToken: VolumeContents = {
    files: async ({ serviceAccountToken: source }, { pod, defaultMode }, signal) => {
      const { path = '', ...wish } = source ?? {};
      const token = await unlessAborted(objects.token(pod, wish), signal);
      return [tokenFile(pod, path, token, defaultMode)];
    },
  };
  return new Map([
    ['configMap', configMap],
    ['secret', secret],
    ['serviceAccountToken', serviceAccountToken],
  ]);
}
