import { POD_UID_LABEL } from '../../policies/cri/cri-labels.ts';
import { RUNTIME_STATES, runtimePodStatus } from '../../policies/cri/runtime-pod-status.ts';
import {
  SIGKILL_EXIT_CODE,
  type Container,
  type ContainerStatus,
  type PodSandbox,
  type PodSandboxStatus,
} from '../../../types/cri.ts';
import type { PodReference } from '../../../types/event-recorder.ts';
import type { RuntimeContainerState, RuntimePodStatus } from '../../../types/runtime-pod.ts';
import { type CallOptions, type RuntimeService, unlessNotFound } from '../service/runtime-service.ts';

/**
 * What the runtime holds of one pod. A container that was listed and is gone when its status is asked for is left out.
 * `now` (Unix ms): when the read begins.
 */
export async function readPod(
  runtime: RuntimeService,
  { uid, name, namespace }: PodReference,
  now: number,
  options?: CallOptions,
): Promise<RuntimePodStatus> {
  const filter = { labelSelector: { [POD_UID_LABEL]: uid } };
  const [sandboxes, containers] = await Promise.all([
    runtime.listPodSandbox(filter, options),
    runtime.listContainers(filter, options),
  ]);
  const [sandboxStatuses, containerStatuses] = await Promise.all([
    Promise.all(sandboxes.map((listed) => sandboxStatus(runtime, listed, options))),
    Promise.all(containers.map((listed) => containerStatus(runtime, listed, options))),
  ]);
  return runtimePodStatus(
    { uid, name, namespace },
    sandboxStatuses.filter((status) => status !== undefined),
    containerStatuses.filter((status) => status !== undefined),
    now,
  );
}

/** If the runtime has no status and still lists the thing, the list counts: the thing must not be made twice. */
async function sandboxStatus(
  runtime: RuntimeService,
  { id }: PodSandbox,
  options: CallOptions | undefined,
): Promise<PodSandboxStatus | undefined> {
  const status = await unlessNotFound(runtime.podSandboxStatus(id, options));
  if (status !== undefined) return status;
  const [stillListed] = await runtime.listPodSandbox({ id }, options);
  return stillListed;
}

async function containerStatus(
  runtime: RuntimeService,
  { id }: Container,
  options: CallOptions | undefined,
): Promise<ContainerStatus | undefined> {
  const status = await unlessNotFound(runtime.containerStatus(id, options));
  if (status !== undefined) return status;
  const [stillListed] = await runtime.listContainers({ id }, options);
  return stillListed && statusByList(stillListed);
}

/** The kubelet's exit code and reason for an unknown end. */
const UNKNOWN_END = { exitCode: SIGKILL_EXIT_CODE, reason: 'ContainerStatusUnknown' };

function statusByList(listed: Container): ContainerStatus {
  const { createdAt, state } = listed;
  const end = state === 'CONTAINER_EXITED' ? UNKNOWN_END : { exitCode: 0, reason: '' };
  const times = { startedAt: createdAt, finishedAt: state === 'CONTAINER_EXITED' ? createdAt : 0 };
  return { ...listed, ...times, ...end, message: '', logPath: '' };
}

export interface ListedPod {
  readonly pod: PodReference;
  /** `id=state` of the pod's sandboxes and containers, sorted: two are equal if nothing has changed between them. */
  readonly states: string;
  /** The pod's status, as far as the lists show it. */
  status(): RuntimePodStatus;
}

interface Lists {
  readonly pod: PodReference;
  readonly sandboxes: PodSandbox[];
  readonly containers: Container[];
}

/**
 * All pods in the runtime, by UID, in two calls. Sandboxes without a pod's UID are left out. `now` (Unix ms): when the
 * calls begin.
 */
export async function listPodStates(
  runtime: RuntimeService,
  now: number,
): Promise<ReadonlyMap<string, ListedPod>> {
  const [sandboxes, containers] = await Promise.all([runtime.listPodSandbox(), runtime.listContainers()]);
  const pods = new Map<string, Lists>();
  const owners = new Map<string, Lists>();
  for (const sandbox of sandboxes) {
    const { id, metadata: pod, labels } = sandbox;
    if (labels[POD_UID_LABEL] === undefined) continue;
    const lists = pods.get(pod.uid) ?? { pod, sandboxes: [], containers: [] };
    lists.sandboxes.push(sandbox);
    owners.set(id, lists);
    pods.set(pod.uid, lists);
  }
  for (const container of containers) owners.get(container.podSandboxId)?.containers.push(container);
  return new Map([...pods].map(([uid, lists]) => [uid, listedPod(lists, now)]));
}

function listedPod({ pod, sandboxes, containers }: Lists, now: number): ListedPod {
  const states = [
    ...sandboxes.map(({ id, state }) => sandboxState(id, state === 'SANDBOX_READY')),
    ...containers.map(({ id, state }) => containerState(id, RUNTIME_STATES[state])),
  ];
  return {
    pod,
    states: joined(states),
    status: () => runtimePodStatus(pod, sandboxes, containers.map(statusByList), now),
  };
}

/** The states of a pod in the form of `ListedPod.states`; undefined if the runtime holds nothing of it. */
export function statesOf({ sandboxes, containers }: RuntimePodStatus): string | undefined {
  const states = [
    ...sandboxes.map(({ id, ready }) => sandboxState(id, ready)),
    ...containers.map(({ id, state }) => containerState(id, state)),
  ];
  return states.length === 0 ? undefined : joined(states);
}

const sandboxState = (id: string, ready: boolean) => `${id}=${ready ? 'ready' : 'notready'}`;
const containerState = (id: string, state: RuntimeContainerState) => `${id}=${state}`;
const joined = (states: readonly string[]) => states.toSorted().join();
