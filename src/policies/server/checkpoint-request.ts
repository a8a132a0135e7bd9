/** A request to write a running container into an archive (`/checkpoint`). */
import type { Pod } from '../../types/kubernetes.ts';
import { StateletError } from '../../types/errors.ts';
import { rfc3339 } from '../formats/time.ts';

/** Init and ephemeral containers too. */
export function hasContainer({ spec }: Pod, name: string): boolean {
  const containers = [
    ...spec.containers,
    ...(spec.initContainers ?? []),
    ...(spec.ephemeralContainers ?? []),
  ];
  return containers.some((container) => container.name === name);
}

const INT64_MAX = 2n ** 63n - 1n;
/** Longer than any call. */
const SECONDS_MAX = 2 ** 31 - 1;

/**
 * The last `timeout` of the query, in seconds; 0 without one: the usual time limit of the runtime's calls. Throws
 * `InvalidArgument` for what is no whole number of 64 bits.
 */
export function checkpointTimeout(query: URLSearchParams): number {
  const text = query.getAll('timeout').at(-1) ?? '0';
  if (/^[+-]?\d+$/u.test(text)) {
    const seconds = BigInt(text.replace(/^\+/u, ''));
    if (seconds <= INT64_MAX && seconds >= -INT64_MAX - 1n) return Math.min(Number(seconds), SECONDS_MAX);
  }
  throw new StateletError('InvalidArgument', 'cannot parse value of timeout parameter');
}

/** The name of the archive in the folder of checkpoints. */
export function checkpointFile(
  { name, namespace }: Pod['metadata'],
  container: string,
  atMs: number,
): string {
  return `checkpoint-${name}_${namespace}-${container}-${rfc3339(atMs)}.tar`;
}
