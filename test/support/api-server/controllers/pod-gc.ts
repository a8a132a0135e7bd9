import { rfc3339 } from '../../../../src/agent/policies/formats/time.ts';
import { isTerminal, withDisruption } from '../../../../src/simulation/api/served-pod-rules.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { LOOPBACK } from '../bootstrap.ts';
import type { AnyObject } from '../context.ts';
import { typeOf } from '../served-types.ts';
import type { ControllerHost } from './controllers.ts';

/** A missing node may still appear. */
const QUARANTINE_MS = 40_000;
/** `--terminated-pod-gc-threshold`. */
const TERMINATED_MAX = 12_500;

/** Since when nodes are missing, by their name. */
const missed = new WeakMap<object, Map<string, number>>();

/** Removes pods of nodes that are gone, pods that were deleted before they had a node, and the oldest of too many that have ended. */
export function collectPods(host: ControllerHost): void {
  const { store, now, again } = host;
  const times = missed.get(store) ?? new Map<string, number>();
  missed.set(store, times);
  const pods = store.list('pods') as AnyObject[];
  for (const name of times.keys()) if (store.get('nodes', { name }) !== undefined) times.delete(name);
  for (const pod of pods) {
    const nodeName = pod.spec.nodeName as string | undefined;
    if (nodeName === undefined) {
      if (pod.metadata.deletionTimestamp !== undefined) remove(host, pod);
      continue;
    }
    if (store.get('nodes', { name: nodeName }) !== undefined) continue;
    const begun = times.get(nodeName) ?? now();
    times.set(nodeName, begun);
    const leftMs = begun + QUARANTINE_MS - now();
    if (leftMs > 0) again(leftMs);
    else remove(host, isTerminal(pod as unknown as Pod) ? pod : lost(host, pod));
  }
  const ended = pods.filter((pod) => isTerminal(pod as unknown as Pod));
  const createdAt = ({ metadata }: AnyObject) => String(metadata.creationTimestamp);
  ended.sort((one, other) => (createdAt(one) < createdAt(other) ? -1 : 1));
  for (const pod of ended.slice(0, Math.max(0, ended.length - TERMINATED_MAX))) remove(host, pod);
}

/** The pod has failed with its node. */
function lost({ store, now }: ControllerHost, pod: AnyObject): AnyObject {
  const why = { reason: 'DeletionByPodGC', message: 'PodGC: node no longer exists' };
  const disrupted = withDisruption(pod as unknown as Pod, rfc3339(now()), why) as unknown as AnyObject;
  const failed = { ...disrupted, status: { ...disrupted.status, phase: 'Failed' } } as AnyObject;
  return store.replace('pods', pod, failed, undefined);
}

function remove({ objects }: ControllerHost, { metadata: { namespace, name } }: AnyObject): void {
  const target = { type: typeOf('pods'), namespace, name };
  if (objects.find(target) !== undefined)
    objects.delete(target, { gracePeriodSeconds: 0 }, { user: LOOPBACK });
}
