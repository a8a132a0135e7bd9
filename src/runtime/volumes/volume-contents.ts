import { downwardAPIFiles, type FieldValues } from '../../policies/volumes/downward-api-files.ts';
import type { ResourceList } from '../../policies/pod/resources.ts';
import type { VolumeFile } from '../../policies/volumes/projected-files.ts';
import {
  isOptional,
  missingSource,
  projectionKind,
  type ProjectionKind,
  type VolumeProjection,
} from '../../policies/volumes/volume-source.ts';
import { StateletError } from '../../types/errors.ts';
import type { Pod } from '../../types/kubernetes.ts';

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
 * Where the files of one kind of source come from: a `downwardAPI`, and with an API server a `configMap`, a `secret`, … It serves
 * volumes of that kind, and sources of that kind in projected volumes.
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
