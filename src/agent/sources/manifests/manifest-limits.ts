/**
 * How much a manifest may hold. A larger manifest is refused with an error that names the limit: whatever a source delivers,
 * it must not use up the memory of the node or block the agent.
 */
import { setMember } from '../../../system/set-member.ts';
import { isTree } from '../rules/place.ts';

/** The kubelet's own limit for a file. */
export const MANIFEST_BYTES_MAX = 10 * 1024 * 1024;
/** The largest object that the API server stores. In characters, as JSON. */
export const POD_LENGTH_MAX = 3 * 1024 * 1024;
export const PODS_MAX = 1_000;
export const DEPTH_MAX = 100;
/** Each scalar, list and map is a value. */
export const VALUES_MAX = 100_000;
export const POD_VALUES_MAX = 20_000;
export const ALIASES_MAX = 100;
/** How many values may come from aliases: with aliases a short text can stand for very many values. */
const ALIASED_VALUES_MAX = 10_000;
/** Each value takes at least this much of the text, unless an alias repeats it. */
const BYTES_PER_VALUE_MIN = 2;

/** Its message says which limit was exceeded, as the end of a sentence about the manifest. */
export class ManifestLimitError extends Error {}

export function tooDeep(): ManifestLimitError {
  return new ManifestLimitError(`is nested deeper than ${DEPTH_MAX} levels`);
}

export function tooManyValues(): ManifestLimitError {
  return new ManifestLimitError(`has more than ${VALUES_MAX} values: split it into several files`);
}

/** Copies parsed manifests, and counts their values. */
export class BoundedCopy {
  readonly #valuesMax: number;
  #values = 0;

  constructor(manifestBytes: number) {
    this.#valuesMax = Math.floor(manifestBytes / BYTES_PER_VALUE_MIN) + ALIASED_VALUES_MAX;
  }

  /** Leaves out members that are null: everywhere in Kubernetes, null means not set. Throws a `ManifestLimitError`. */
  withoutNulls(value: unknown, depth = 0): unknown {
    this.#count(depth);
    if (Array.isArray(value)) return value.map((item) => this.withoutNulls(item, depth + 1));
    if (!isTree(value)) return value;
    const copied: Record<string, unknown> = {};
    for (const name of Object.keys(value)) {
      const member = value[name];
      if (member !== null) setMember(copied, name, this.withoutNulls(member, depth + 1));
    }
    return copied;
  }

  #count(depth: number): void {
    if (depth > DEPTH_MAX) throw tooDeep();
    this.#values += 1;
    if (this.#values > VALUES_MAX) throw tooManyValues();
    if (this.#values > this.#valuesMax)
      throw new ManifestLimitError(`has aliases that repeat more than ${ALIASED_VALUES_MAX} values`);
  }
}

/** Why the pod is too large; undefined when it is not. Its depth must have been checked before. */
export function podSizeProblem(pod: unknown): string | undefined {
  if (valuesIn(pod) > POD_VALUES_MAX) return `has more than ${POD_VALUES_MAX} values, too many for one pod`;
  if (JSON.stringify(pod).length > POD_LENGTH_MAX) return 'is larger than 3 MiB, too large for one pod';
  return undefined;
}

function valuesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, member) => sum + valuesIn(member), 1);
}
