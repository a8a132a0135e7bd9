/** What the routes about pods answer: the list of `/runningpods/`, checkpoints of containers, statuses as Go writes them. */
import { StateletError } from '../../../types/errors.ts';
import type { Pod, PodStatus } from '../../../types/kubernetes.ts';
import type { RuntimePodStatus } from '../../../types/runtime-pod.ts';
import { rfc3339 } from '../formats/time.ts';
import { podContainers } from '../volumes/volume-source.ts';

export interface RunningPod {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly spec: {
    readonly containers: readonly {
      readonly name: string;
      readonly image: string;
      readonly resources: object;
    }[];
  };
  readonly status: object;
}

/** What runs in the runtime, as pods with no more than names and images: those with a ready sandbox or a running container, the newest first. */
export function runningPods(pods: Iterable<RuntimePodStatus>): readonly RunningPod[] {
  return [...pods]
    .map((pod) => ({ pod, containers: pod.containers.filter(({ state }) => state === 'running') }))
    .filter(({ pod, containers }) => containers.length > 0 || pod.sandboxes.some(({ ready }) => ready))
    .sort((one, other) => createdAt(other.pod) - createdAt(one.pod))
    .map(({ pod: { name, namespace, uid }, containers }) => ({
      metadata: { name, namespace, uid },
      spec: {
        containers: containers.map((container) => ({
          name: container.name,
          image: container.imageRef === '' ? container.image : container.imageRef,
          resources: {},
        })),
      },
      status: {},
    }));
}

function createdAt({ sandboxes, containers }: RuntimePodStatus): number {
  return Math.max(0, ...[...sandboxes, ...containers].map((part) => part.createdAt));
}

/** Init and ephemeral containers too. */
export function hasContainer({ spec }: Pod, name: string): boolean {
  return podContainers(spec).some((container) => container.name === name);
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

const CONTAINER_LISTS = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const;

export function asGoWrites(status: PodStatus): object {
  const { conditions } = status;
  const lists = CONTAINER_LISTS.flatMap((name) => {
    const containers = status[name];
    return containers === undefined
      ? []
      : [[name, containers.map((container) => ({ state: {}, lastState: {}, ...container }))] as const];
  });
  return {
    ...status,
    ...(conditions && {
      conditions: conditions.map((condition) => ({
        lastProbeTime: null,
        lastTransitionTime: null,
        ...condition,
      })),
    }),
    ...Object.fromEntries(lists),
  };
}
