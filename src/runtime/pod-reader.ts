import { POD_UID_LABEL } from '../policies/cri-labels.ts';
import { RUNTIME_STATES, runtimePodStatus } from '../policies/runtime-pod-status.ts';
import { errorKind } from '../types/errors.ts';
import type { PodReference } from '../types/event-recorder.ts';
import type { RuntimeContainerState, RuntimePodStatus } from '../types/runtime-pod.ts';
import type { CallOptions, RuntimeService } from './runtime-service.ts';

/**
 * What the runtime holds of one pod. What disappears between being listed and being looked at counts as gone.
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
    Promise.all(sandboxes.map(({ id }) => unlessGone(runtime.podSandboxStatus(id, options)))),
    Promise.all(containers.map(({ id }) => unlessGone(runtime.containerStatus(id, options)))),
  ]);
  return runtimePodStatus(
    { uid, name, namespace },
    sandboxStatuses.filter((status) => status !== undefined),
    containerStatuses.filter((status) => status !== undefined),
    now,
  );
}

export interface ListedPod {
  readonly pod: PodReference;
  /** `id=state` of everything the runtime holds of the pod, sorted: equal exactly when nothing has changed. */
  readonly states: string;
}

/** Everything that the runtime holds, by pod UID, in two calls. What carries no pod UID is not a pod's and left out. */
export async function listPodStates(runtime: RuntimeService): Promise<ReadonlyMap<string, ListedPod>> {
  const [sandboxes, containers] = await Promise.all([runtime.listPodSandbox(), runtime.listContainers()]);
  const found = new Map<string, { pod: PodReference; states: string[] }>();
  const owners = new Map<string, PodReference>();
  const add = (pod: PodReference, state: string) => {
    const entry = found.get(pod.uid) ?? { pod, states: [] };
    entry.states.push(state);
    found.set(pod.uid, entry);
  };
  for (const { id, metadata, state, labels } of sandboxes) {
    if (labels[POD_UID_LABEL] === undefined) continue;
    owners.set(id, metadata);
    add(metadata, sandboxState(id, state === 'SANDBOX_READY'));
  }
  for (const { id, podSandboxId, state } of containers) {
    const owner = owners.get(podSandboxId);
    if (owner !== undefined) add(owner, containerState(id, RUNTIME_STATES[state]));
  }
  return new Map([...found].map(([uid, { pod, states }]) => [uid, { pod, states: joined(states) }]));
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

async function unlessGone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (errorKind(error) === 'NotFound') return undefined;
    throw error;
  }
}
