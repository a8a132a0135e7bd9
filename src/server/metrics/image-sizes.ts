const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

/** The kubelet's classes of sizes, the smallest first. */
const CLASSES: readonly (readonly [belowBytes: number, label: string])[] = [
  [10 * MIB, '0-10MB'],
  [100 * MIB, '10MB-100MB'],
  [500 * MIB, '100MB-500MB'],
  [GIB, '500MB-1GB'],
  [5 * GIB, '1GB-5GB'],
  [10 * GIB, '5GB-10GB'],
  [20 * GIB, '10GB-20GB'],
  [30 * GIB, '20GB-30GB'],
  [40 * GIB, '30GB-40GB'],
  [60 * GIB, '40GB-60GB'],
  [100 * GIB, '60GB-100GB'],
];

/** The class of an image's size, as a label of a metric. */
export function imageSizeBucket(sizeBytes: number): string {
  return CLASSES.find(([belowBytes]) => sizeBytes < belowBytes)?.[1] ?? 'GT100GB';
}
