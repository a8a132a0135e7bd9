import { withDisruption } from '../../../../src/simulation/api/served-pod-rules.ts';
import { rfc3339 } from '../../../../src/agent/policies/formats/time.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { LOOPBACK } from '../bootstrap.ts';
import type { AnyObject } from '../context.ts';
import { typeOf } from '../served-types.ts';
import type { ControllerHost } from './controllers.ts';
import { type Taint, tolerates, type Toleration } from './scheduler.ts';

/** How long at most a pod stays on a node with such taints: 0, a time, or for ever. */
export function secondsOnNode(taints: readonly Taint[], tolerations: readonly Toleration[]): number {
  const seconds = taints
    .filter(({ effect }) => effect === 'NoExecute')
    .map((taint) => {
      const fitting = tolerations.filter((toleration) => tolerates(toleration, taint));
      if (fitting.length === 0) return 0;
      return Math.min(...fitting.map(({ tolerationSeconds = Infinity }) => Math.max(0, tolerationSeconds)));
    });
  return Math.min(Infinity, ...seconds);
}

/** Since when pods are on a node with such taints, by their UID. */
const since = new WeakMap<object, Map<string, number>>();

/** Deletes pods that do not tolerate the taints of their node, or not any longer. */
export function evictByTaints(host: ControllerHost): void {
  const { store, objects, now, again } = host;
  const times = since.get(store) ?? new Map<string, number>();
  since.set(store, times);
  for (const pod of store.list('pods') as AnyObject[]) {
    const { uid, namespace, name, deletionTimestamp } = pod.metadata;
    const node = store.get('nodes', { name: String(pod.spec.nodeName) }) as AnyObject | undefined;
    const taints = (node?.spec?.taints ?? []) as Taint[];
    const seconds = secondsOnNode(taints, (pod.spec.tolerations ?? []) as Toleration[]);
    if (seconds === Infinity || deletionTimestamp !== undefined) {
      times.delete(uid);
      continue;
    }
    const begun = times.get(uid) ?? now();
    times.set(uid, begun);
    const leftMs = begun + seconds * 1000 - now();
    if (leftMs > 0) {
      again(leftMs);
      continue;
    }
    const disrupted = withDisruption(pod as unknown as Pod, rfc3339(now()), {
      reason: 'DeletionByTaintManager',
      message: 'Taint manager: deleting due to NoExecute taint',
    }) as unknown as AnyObject;
    if (disrupted !== pod) store.replace('pods', pod, disrupted, undefined);
    objects.delete({ type: typeOf('pods'), namespace, name }, {}, { user: LOOPBACK });
  }
}
