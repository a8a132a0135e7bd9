import {
  configMapFiles,
  credentialFile,
  fileReaders,
  secretFiles,
} from '../../policies/volumes/object-files.ts';
import { trustAnchors } from '../../policies/volumes/trust-anchors.ts';
import { missingSource } from '../../policies/volumes/volume-source.ts';
import { unlessAborted } from '../../system/promises/unless-aborted.ts';
import type { ApiObjects } from '../../types/api-objects.ts';
import { StateletError } from '../../types/errors.ts';
import type { TrustBundleSelection } from '../../types/kubernetes.ts';
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
      return [credentialFile(path, token, fileReaders(pod), defaultMode)];
    },
  };
  const clusterTrustBundle: VolumeContents = {
    files: async ({ clusterTrustBundle: source }, { pod, defaultMode }, signal) => {
      const { path = '', optional = false, ...selection } = source ?? {};
      const bundles = await unlessAborted(objects.clusterTrustBundles(pod, { path, ...selection }), signal);
      if (bundles.length === 0 && !optional) throw noBundles({ path, ...selection });
      // As with the kubelet, a file without certificates if the source is optional.
      return [credentialFile(path, trustAnchors(bundles), fileReaders(pod), defaultMode)];
    },
  };
  return new Map([
    ['configMap', configMap],
    ['secret', secret],
    ['serviceAccountToken', serviceAccountToken],
    ['clusterTrustBundle', clusterTrustBundle],
  ]);
}

function noBundles(clusterTrustBundle: TrustBundleSelection): StateletError {
  const { kind, message } = missingSource({ clusterTrustBundle });
  const place = clusterTrustBundle.name === undefined ? '' : 'while getting ClusterTrustBundle: ';
  return new StateletError(kind, place + message);
}
