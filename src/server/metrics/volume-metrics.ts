/** What pods use of disks, as `/metrics` shows it: the volumes with PersistentVolumeClaims, and logs. */
import type { PodLogs } from '../../runtime/stats/stats-provider.ts';
import type { ClaimStats } from '../../types/stats.ts';
import { type Labels, type Metric, metric } from './metric-text.ts';

const GAUGES = [
  ['capacity_bytes', 'Capacity in bytes of the volume', 'capacityBytes'],
  ['available_bytes', 'Number of available bytes in the volume', 'availableBytes'],
  ['used_bytes', 'Number of used bytes in the volume', 'usedBytes'],
  ['inodes', 'Maximum number of inodes in the volume', 'inodes'],
  ['inodes_free', 'Number of free inodes in the volume', 'inodesFree'],
  ['inodes_used', 'Number of used inodes in the volume', 'inodesUsed'],
] as const;

/** As with the kubelet, a claim that several pods use is shown once, and claims have an order. */
export function volumeMetrics(figures: readonly ClaimStats[]): readonly Metric[] {
  const byClaim = new Map<string, readonly [Labels, ClaimStats]>();
  for (const stats of figures) {
    const { name, namespace } = stats.pvcRef;
    const key = `${namespace}/${name}`;
    if (!byClaim.has(key)) byClaim.set(key, [{ namespace, persistentvolumeclaim: name }, stats]);
  }
  const claims = [...byClaim].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, claim]) => claim);
  return GAUGES.map(([name, help, figure]) =>
    metric(
      { name: `kubelet_volume_stats_${name}`, type: 'gauge', help: `[ALPHA] ${help}` },
      claims.map(([labels, stats]) => [labels, stats[figure]]),
    ),
  );
}

/** As with the kubelet, of the containers in the Summary. */
export function logMetric(figures: readonly PodLogs[]): Metric {
  const head = {
    name: 'kubelet_container_log_filesystem_used_bytes',
    type: 'gauge',
    help: "[ALPHA] Bytes used by the container's logs on the filesystem.",
  } as const;
  const rows = figures.flatMap(({ pod: { uid, namespace, name }, used }) =>
    Array.from(
      used,
      ([container, { usedBytes }]) => [{ uid, namespace, pod: name, container }, usedBytes] as const,
    ),
  );
  return metric(head, rows);
}
