import type { ServedPod } from '../../types/served-pod.ts';
import type { PodRegistry } from './pod-registry.ts';
import type { StatusManager } from './status-manager.ts';

/** Every pod that is known by its object, as `/pods` serves it. */
export function* servedPods(registry: PodRegistry, statusManager: StatusManager): Generator<ServedPod> {
  for (const { pod: reference, actor } of registry.entries()) {
    const { context, value } = actor.getSnapshot();
    const { pod, delay } = context;
    if (pod === undefined) continue;
    const status = statusManager.get(reference.uid);
    yield {
      pod,
      ...(status && { status }),
      state: stateName(value),
      ...(delay && { waitsFor: delay.message }),
    };
  }
}

/** `Syncing.Settled`. */
export function stateName(value: object | string): string {
  if (typeof value === 'string') return value;
  return Object.entries(value)
    .map(([state, inner]) => `${state}.${stateName(inner as object | string)}`)
    .join();
}
