/** What every source of pods has in common. */
import type { PodSource } from '../policies/sync/pod-updates.ts';
import type { Pod } from '../types/kubernetes.ts';

/** What is wrong with a manifest. */
export interface ManifestProblem {
  /** `spec.containers[0].image`; left out where it is not about one field. */
  readonly field?: string;
  readonly message: string;
}

export interface SourceProblem extends ManifestProblem {
  readonly source: PodSource;
  /** Path or URL. */
  readonly file?: string;
}

/** The whole of a source as it is now. Sources emit one whenever it has changed. */
export interface SourceUpdate {
  /** Undefined until the source could be read for the first time: nothing is known of its pods, not even that there are none. */
  readonly pods?: readonly Pod[];
  /** The pods are those that an agent before this one has read: the source itself has not been seen. */
  readonly restored?: true;
  /** All that is wrong now, not only what is new. */
  readonly problems: readonly SourceProblem[];
}

/** `FILE: FIELD: MESSAGE`. */
export function problemText({ file, field, message }: Omit<SourceProblem, 'source'>): string {
  return [file, field, message].filter((part) => part !== undefined).join(': ');
}
