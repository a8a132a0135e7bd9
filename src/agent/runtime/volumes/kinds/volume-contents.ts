/** Where the files of a volume come from. */
import {
  collectFiles,
  downwardAPIFiles,
  type FieldValues,
  wholeFiles,
} from '../../../policies/volumes/downward-api-files.ts';
import { FilesSize, type VolumeFile } from '../../../policies/volumes/projected-files.ts';
import {
  configMapFiles,
  credentialFile,
  fileReaders,
  secretFiles,
  trustAnchors,
} from '../../../policies/volumes/object-files.ts';
import type { ResourceList } from '../../../policies/pod/resources.ts';
import {
  fileSources,
  filesMode,
  isOptional,
  missingSource,
  projectionKind,
  type ProjectionKind,
  type Volume,
  type VolumeProjection,
} from '../../../policies/volumes/volume-source.ts';
import { eachOf, unlessAborted } from '../../../../system/promises.ts';
import type { ApiObjects } from '../../../../types/api-objects.ts';
import { StateletError } from '../../../../types/errors.ts';
import type { Pod, TrustBundleSelection } from '../../../../types/kubernetes.ts';

export interface ContentsRequest {
  readonly pod: Pod;
  /** For files that have no mode of their own. */
  readonly defaultMode: number;
  /** The node's allocatable resources. */
  readonly allocatable: ResourceList;
  /** Shared by the sources of a volume. */
  readonly fields?: FieldValues;
}

/** Undefined where the object that the source names does not exist. */
type Files = readonly VolumeFile[] | undefined;

/**
 * Reads the files of one kind of source: `downwardAPI`, and with an API server `configMap`, `secret`, … Volumes of that kind use
 * it, and sources of that kind in projected volumes.
 */
export interface VolumeContents {
  files(source: VolumeProjection, request: ContentsRequest, signal: AbortSignal): Files | Promise<Files>;
}

export type VolumeContentsByKind = ReadonlyMap<ProjectionKind, VolumeContents>;

export const downwardAPIContents: VolumeContents = {
  files: ({ downwardAPI }, { pod, defaultMode, allocatable, fields }) =>
    downwardAPIFiles(pod, downwardAPI?.items ?? [], defaultMode, allocatable, fields),
};

/** No files for an optional source that does not exist, or whose kind this node cannot read. */
export async function filesOf(
  source: VolumeProjection,
  contents: VolumeContentsByKind,
  request: ContentsRequest,
  signal: AbortSignal,
): Promise<readonly VolumeFile[]> {
  const kind = projectionKind(source);
  if (kind === undefined) throw new StateletError('InvalidArgument', 'a projected source names nothing');
  const provider = contents.get(kind);
  const files = await provider?.files(source, request, signal);
  if (files !== undefined) return files;
  if (isOptional(source)) return [];
  throw provider === undefined ? needsServer(kind) : missingSource(source);
}

function needsServer(kind: ProjectionKind): StateletError {
  if (kind === 'podCertificate')
    return new StateletError('Unimplemented', 'a projected source of podCertificate is not supported');
  return new StateletError(
    'FailedPrecondition',
    `this node cannot read a ${kind} from an API server; mark it optional or use a hostPath volume`,
  );
}

const SOURCES_AT_ONCE = 8;

/** The files of all sources of the volume. Rejects where one of them cannot be read. */
export async function sourceFiles(
  { allocatable, contents }: { readonly allocatable: ResourceList; readonly contents: VolumeContentsByKind },
  pod: Pod,
  volume: Volume,
  signal: AbortSignal,
): Promise<readonly VolumeFile[]> {
  const request = { pod, defaultMode: filesMode(volume), allocatable, fields: new Map<string, string>() };
  const size = new FilesSize(volume);
  const sources = fileSources(volume);
  const outcomes: PromiseSettledResult<readonly VolumeFile[]>[] = [];
  // A few at a time: many sources may name one large object, and no more of them is decoded than a volume may have.
  await eachOf([...sources.entries()], SOURCES_AT_ONCE, async ([index, source]) => {
    const read = async () => size.withinLimit(await filesOf(source, contents, request, signal));
    const [outcome] = await Promise.allSettled(size.isExceeded ? [] : [read()]);
    if (outcome) outcomes[index] = outcome;
  });
  return wholeFiles(collectFiles(outcomes.filter(Boolean)));
}

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
