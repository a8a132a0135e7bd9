/** A runtime's view of a pod out of the few fields that matter in a vector or a test. Times here are Unix seconds. */
import type {
  RuntimeContainerStatus,
  RuntimePodStatus,
  RuntimeSandboxStatus,
} from '../../src/types/runtime-pod.ts';

export type PartialContainer = Partial<RuntimeContainerStatus> &
  Pick<RuntimeContainerStatus, 'id' | 'name' | 'state'>;
export type PartialSandbox = Partial<Omit<RuntimeSandboxStatus, 'ip'>> & {
  readonly id: string;
  readonly ip?: string | null;
};

export interface PartialPodStatus {
  readonly sandboxes?: readonly PartialSandbox[];
  readonly containers?: readonly PartialContainer[];
}

export function runtimePodStatus({ sandboxes = [], containers = [] }: PartialPodStatus): RuntimePodStatus {
  return {
    uid: 'uid',
    name: 'pod',
    namespace: 'ns',
    sandboxes: sandboxes.map(runtimeSandboxStatus),
    containers: containers.map(runtimeContainerStatus),
    observedAt: 0,
  };
}

function runtimeSandboxStatus({ ip, ...rest }: PartialSandbox): RuntimeSandboxStatus {
  return {
    ready: true,
    attempt: 0,
    createdAt: 0,
    networkMode: 'POD',
    ...rest,
    ...(typeof ip === 'string' && { ip }),
  };
}

function runtimeContainerStatus(partial: PartialContainer): RuntimeContainerStatus {
  return {
    exitCode: 0,
    reason: '',
    message: '',
    restartCount: 0,
    image: '',
    imageRef: '',
    podSandboxId: '',
    ...partial,
    createdAt: (partial.createdAt ?? 0) * 1000,
    startedAt: (partial.startedAt ?? 0) * 1000,
    finishedAt: (partial.finishedAt ?? 0) * 1000,
  };
}
