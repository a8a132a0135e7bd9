/**
 * An eviction plugin: it keeps one reclaimed pod on the node ($KEEP of them), and wants the oldest ones to go while there are more.
 * `STATELET_ROOT_DIR=… node oldest-first.ts`, where STATELET_ROOT_DIR is the root folder of the agent.
 */
import { type Pod, startEvictionPlugin } from 'statelet/eviction-plugin';

const KEEP = Number(process.env.KEEP ?? 1);

/** Reclaimed pods use what others leave: they are the first ones that may go. */
function isReclaimed({ metadata }: Pod): boolean {
  return metadata.annotations?.['katalyst.kubewharf.io/qos_level'] === 'reclaimed_cores';
}

/** Pods that have not started yet are the youngest. */
function startedAt({ status }: Pod): number {
  return status?.startTime === undefined ? Infinity : Date.parse(status.startTime);
}

await startEvictionPlugin({
  name: 'oldest-first',
  evictPods({ activePods }) {
    const byAge = activePods.filter(isReclaimed).sort((a, b) => startedAt(a) - startedAt(b));
    const tooMany = byAge.slice(0, Math.max(byAge.length - KEEP, 0));
    const reason = `it is the oldest of ${byAge.length} reclaimed pods, and ${KEEP} may stay`;
    return { evictPods: tooMany.map((pod) => ({ pod, reason, forceEvict: true })) };
  },
});
