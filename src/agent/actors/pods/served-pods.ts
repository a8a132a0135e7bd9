import { stateName } from '../transitions.ts';
import { cpuSet, cpuSetString } from '../../policies/cpus/cpu-set.ts';
import { initAndRegular } from '../../policies/pod-actions/restart.ts';
import { podWaitText } from '../../policies/pod/pod-wait.ts';
import { isManifestPod } from '../../policies/pod/pod-kinds.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type { ResourceHolders } from '../../../types/pod-resources.ts';
import type { PodWorker, ServedPod } from '../../../types/served-pod.ts';
import type { DesiredPods } from './desired-pods.ts';
import type { PodEntry, PodRegistry } from './pod-registry.ts';
import type { StatusManager } from './status-manager.ts';

/** Every pod that is known by its object, as `/pods` serves it. */
export function* servedPods(registry: PodRegistry, statusManager: StatusManager): Generator<ServedPod> {
  for (const entry of registry.entries()) {
    const { pod } = entry.actor.getSnapshot().context;
    if (pod !== undefined) yield served(pod, registry, statusManager, entry);
  }
}

export function* withOwnCpus(
  pods: Iterable<ServedPod>,
  holders: Pick<ResourceHolders, 'ofContainer'>,
): Generator<ServedPod> {
  for (const served of pods) {
    const { pod } = served;
    const cpus = initAndRegular(pod).flatMap((container) => holders.ofContainer(pod, container).cpuIDs);
    yield cpus.length === 0 ? served : { ...served, ownCpus: cpuSetString(cpuSet(cpus)) };
  }
}

/** The actors of all pods, also of those that only the runtime knows. */
export function* podWorkers(registry: PodRegistry, desired: Pick<DesiredPods, 'has'>): Generator<PodWorker> {
  for (const { actor } of registry.entries()) {
    const snapshot = actor.getSnapshot();
    const { pod } = snapshot.context;
    const config = pod === undefined ? 'runtime_only' : desired.has(pod.metadata.uid) ? 'desired' : 'orphan';
    const lifecycle = snapshot.matches('Terminated')
      ? 'terminated'
      : snapshot.matches('Terminating')
        ? 'terminating'
        : 'sync';
    yield { lifecycle, config, isStatic: pod !== undefined && isManifestPod(pod) };
  }
}

/** A pod that should be here, as it should be now. */
export function servedPod(pod: Pod, registry: PodRegistry, statusManager: StatusManager): ServedPod {
  return served(pod, registry, statusManager);
}

/** A pod without actor has not been taken up yet, or is over. */
function served(
  pod: Pod,
  registry: PodRegistry,
  statusManager: StatusManager,
  entry: PodEntry | undefined = registry.get(pod.metadata.uid),
): ServedPod {
  const { uid } = pod.metadata;
  const status = statusManager.get(uid);
  const snapshot = entry?.actor.getSnapshot();
  const wait = registry.podWait(uid);
  const since = wait && new Date(wait.since).toISOString();
  const waitsFor = wait && since ? podWaitText(wait, since) : snapshot?.context.delay?.message;
  return {
    pod,
    status,
    state: snapshot === undefined ? '' : stateName(snapshot.value),
    waitsFor,
  };
}

/**
 * The pods that the sources want here, as the kubelet serves them: without mirror pods, and with the status that the source has. A
 * manifest has none: its pods have the status of this node.
 */
export function* podsForCluster(desired: DesiredPods, statusManager: StatusManager): Generator<Pod> {
  for (const pod of desired.pods()) {
    const status = isManifestPod(pod) ? statusManager.get(pod.metadata.uid) : undefined;
    yield status === undefined ? pod : { ...pod, status };
  }
}
