/** What sources of pods read, and what they emit. */
import type { PodSource } from '../policies/pod-actions/wanted-pods.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { ManifestObject } from './objects/manifest-object.ts';

/** `file` and `http`: of static pods. `local`: of ordinary ones, from files and URLs. */
export type ManifestSource = 'file' | 'http' | 'local';

export interface ManifestOrigin {
  readonly source: ManifestSource;
  /** Path or URL that the manifest was read from. */
  readonly location: string;
  readonly nodeName: string;
}

/** One thing that is wrong with a manifest. */
export interface ManifestProblem {
  /** `spec.containers[0].image`; left out when the problem is not about one field. */
  readonly field?: string;
  readonly message: string;
  /** A reader would wait there for ever: `/healthz` names it, as the log does. */
  readonly blocks?: boolean;
  /** Only the document or object that it is about is left out: the others of its manifest count. */
  readonly leavesOut?: true;
}

export interface SourceProblem extends ManifestProblem {
  readonly source: PodSource;
  /** Path or URL. */
  readonly file?: string;
}

export interface ObjectsOfManifest {
  /** Path or URL, as problems name it. */
  readonly file: string;
  readonly objects: readonly ManifestObject[];
}

/** The whole state of a source. Sources emit one after each change. */
export interface SourceUpdate {
  /** Undefined until the source was read for the first time. */
  readonly pods?: readonly Pod[];
  /** What ordinary pods of manifests may refer to. Left out where there is none. */
  readonly objects?: readonly ObjectsOfManifest[];
  /** The pods come from the last good manifests of an earlier agent: the source itself has not been read yet. */
  readonly restored?: true;
  /** All problems at this time, not only the new ones. */
  readonly problems: readonly SourceProblem[];
}

/** `FILE: FIELD: MESSAGE`. */
export function problemText({ file, field, message }: Omit<SourceProblem, 'source'>): string {
  return [file, field, message].filter((part) => part !== undefined).join(': ');
}
