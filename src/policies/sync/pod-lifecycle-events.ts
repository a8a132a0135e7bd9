import type { RuntimePodStatus } from '../../types/runtime-pod.ts';

export type PodLifecycleEventType =
  'ContainerStarted' | 'ContainerDied' | 'ContainerRemoved' | 'ContainerChanged' | 'PodSync';

/** A change of a container or sandbox, whose id is `id`. The names are those of the kubelet's PLEG. */
export interface PodLifecycleEvent {
  readonly type: PodLifecycleEventType;
  readonly id: string;
}

type PlegState = 'running' | 'exited' | 'unknown' | 'nonExistent';

/** What has happened between two observations of a pod. Without an earlier observation, all that is found is new. */
export function podLifecycleEvents(
  before: RuntimePodStatus | undefined,
  after: RuntimePodStatus,
): readonly PodLifecycleEvent[] {
  const old = states(before);
  const now = states(after);
  const ids = new Set([...old.keys(), ...now.keys()]);
  return [...ids].flatMap((id) => eventsOf(id, old.get(id) ?? 'nonExistent', now.get(id) ?? 'nonExistent'));
}

function states(status: RuntimePodStatus | undefined): ReadonlyMap<string, PlegState> {
  const result = new Map<string, PlegState>();
  for (const sandbox of status?.sandboxes ?? []) result.set(sandbox.id, sandbox.ready ? 'running' : 'exited');
  for (const container of status?.containers ?? []) {
    // As in the kubelet's PLEG, a container that is created and not yet started has an unknown state.
    result.set(container.id, container.state === 'created' ? 'unknown' : container.state);
  }
  return result;
}

function eventsOf(id: string, before: PlegState, after: PlegState): readonly PodLifecycleEvent[] {
  if (before === after) return [];
  switch (after) {
    case 'running':
      return [{ type: 'ContainerStarted', id }];
    case 'exited':
      return [{ type: 'ContainerDied', id }];
    case 'unknown':
      return [{ type: 'ContainerChanged', id }];
    case 'nonExistent':
      return before === 'exited'
        ? [{ type: 'ContainerRemoved', id }]
        : [
            { type: 'ContainerDied', id },
            { type: 'ContainerRemoved', id },
          ];
  }
}
