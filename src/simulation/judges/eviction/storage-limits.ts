/** Which limits of local storage a pod exceeds, by the figures that the agent received. */
import type { FileSystemLayout } from '../../../policies/eviction/file-system-parts.ts';
import { countedAmount } from '../../../policies/admission/held-resources.ts';
import { parseQuantity } from '../../../policies/formats/quantity.ts';
import type { Container, Pod } from '../../../types/kubernetes.ts';
import { NOTHING, type StorageUse } from '../../resources/node-use.ts';

/** By the names under which evictions are counted. */
export function exceededLimits(
  { spec }: Pod,
  use: StorageUse,
  { dedicatedImageFs }: FileSystemLayout,
): readonly string[] {
  const limits = new Map(spec.containers.map((container) => [container.name, limitOf(container)]));
  const known = [...limits.values()].filter((limit) => limit !== undefined);
  const together = known.reduce((sum, limit) => sum + limit, 0);
  const isVolumeOver = (spec.volumes ?? []).some(({ name, emptyDir }) => {
    const limit = emptyDir?.sizeLimit;
    return limit != null && (use.volumes.get(name) ?? NOTHING).bytes > inBytes(limit);
  });
  const isContainerOver = use.containers.some(({ name, layer, logs }) => {
    const used = logs.bytes + (dedicatedImageFs ? 0 : layer.bytes);
    return used > (limits.get(name) ?? Infinity);
  });
  return [
    ...(isVolumeOver ? ['emptydirfs.limit'] : []),
    ...(known.length > 0 && use.whole.bytes > together ? ['ephemeralpodfs.limit'] : []),
    ...(isContainerOver ? ['ephemeralcontainerfs.limit'] : []),
  ];
}

function limitOf({ resources }: Container): number | undefined {
  const limit = resources?.limits?.['ephemeral-storage'];
  return limit === undefined ? undefined : inBytes(limit);
}

function inBytes(text: string): number {
  return countedAmount('ephemeral-storage', parseQuantity(text));
}
