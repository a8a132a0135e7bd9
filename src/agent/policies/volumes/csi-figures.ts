import type { FsStats } from '../../../types/stats.ts';

export const USAGE_UNITS = ['UNKNOWN', 'BYTES', 'INODES'] as const;

/** A CSI driver's figures of a volume, in one unit. */
export interface CsiUsage {
  readonly available: number;
  readonly total: number;
  readonly used: number;
  readonly unit: (typeof USAGE_UNITS)[number];
}

const NOTHING = { available: 0, total: 0, used: 0 };

/** As with the kubelet, what the driver does not say of bytes or inodes is 0. Undefined where it says nothing at all. */
export function volumeFigures(usages: readonly CsiUsage[]): Omit<Required<FsStats>, 'time'> | undefined {
  if (usages.length === 0) return undefined;
  const of = (wanted: CsiUsage['unit']) => usages.find(({ unit }) => unit === wanted) ?? NOTHING;
  const [bytes, inodes] = [of('BYTES'), of('INODES')];
  return {
    availableBytes: bytes.available,
    capacityBytes: bytes.total,
    usedBytes: bytes.used,
    inodesFree: inodes.available,
    inodes: inodes.total,
    inodesUsed: inodes.used,
  };
}
