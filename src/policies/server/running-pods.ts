/** The list of `/runningpods/`: what runs in the runtime, as pods with no more than names and images. */
import type { RuntimePodStatus } from '../../types/runtime-pod.ts';

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

/** Pods with a ready sandbox or a running container; the newest pod is the first. */
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
