import { POD_UID_LABEL } from '../../policies/cri/cri-labels.ts';
import { RUNTIME_STATES, runtimePodStatus } from '../../policies/status/runtime-pod-status.ts';
import type { Container, ContainerStatus, PodSandbox, PodSandboxStatus } from '../../types/cri.ts';
import type { PodReference } from '../../types/event-recorder.ts';
import type { RuntimeContainerState, RuntimePodStatus } from '../../types/runtime-pod.ts';
import type { CallOptions, RuntimeService } from '../service/runtime-service.ts';
import { unlessNotFound } from '../service/unless-not-found.ts';

/**
 * What the runtime holds of one pod. What disappears between being listed and being looked at counts as gone, once no list has it.
 * `now` (Unix ms) is the time at which the read begins.
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

/** What is said not to be there and is listed all the same is taken as the list shows it: it must not be made twice. */
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

/** The kubelet's exit code and reason for an end of which nothing is known. */
const UNKNOWN_END = { exitCode: 137, reason: 'ContainerStatusUnknown' };

function statusByList(listed: Container): ContainerStatus {
  const { createdAt, state } = listed;
  const end = state === 'CONTAINER_EXITED' ? UNKNOWN_END : { exitCode: 0, reason: '' };
  const times = { startedAt: createdAt, finishedAt: state === 'CONTAINER_EXITED' ? createdAt : 0 };
  return { ...listed, ...times, ...end, message: '', logPath: '' };
}

export interface ListedPod {
  readonly pod: PodReference;
  /** `id=state` of everything the runtime holds of the pod, sorted: equal exactly when nothing has changed. */
  readonly states: string;
  /** The pod as far as lists tell. */
  status(): RuntimePodStatus;
}

interface Lists {
  readonly pod: PodReference;
  readonly sandboxes: PodSandbox[];
  readonly containers: Container[];
}

/**
 * Everything that the runtime holds, by pod UID, in two calls. What carries no pod UID is not a pod's and left out. `now`
 * (Unix ms) is the time at which the calls begin.
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

/** An observation as `listPodStates` describes it; undefined where the runtime holds nothing of the pod. */
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
