/** How an emptyDir is set up: as a folder on the disk, or as a filesystem in memory. */
import type { Pod } from '../../types/kubernetes.ts';
import { StateletError } from '../../types/errors.ts';
import { compareQuantity, parseQuantity, quantityValue, ZERO_QUANTITY } from '../formats/quantity.ts';
import type { Quantity } from '../formats/quantity.ts';
import { podLimits } from '../pod/resources.ts';
import type { ResourceList } from '../pod/resources.ts';
import { podFsGroup, volumeRootMode } from './volume-ownership.ts';
import { podContainers } from './volume-source.ts';
import type { Volume } from './volume-source.ts';

/** A filesystem to be mounted. The options set the mode and group of its root together with the mount. */
export interface MemoryFilesystem {
  readonly type: 'tmpfs' | 'hugetlbfs';
  readonly options: readonly string[];
}

const HUGE_PAGES = 'HugePages';
const HUGE_PAGES_RESOURCE = 'hugepages-';

/** Undefined for a folder on the disk. Throws a StateletError of kind InvalidArgument if the pod cannot have this medium. */
export function emptyDirFilesystem(
  pod: Pod,
  volume: Volume,
  allocatable: ResourceList,
): MemoryFilesystem | undefined {
  const { medium = '', sizeLimit } = volume.emptyDir ?? {};
  if (medium === '') return undefined;
  if (medium === 'Memory') return memoryFilesystem(pod, tmpfsSize(pod, sizeLimit, allocatable));
  if (medium === HUGE_PAGES || medium.startsWith(`${HUGE_PAGES}-`)) {
    const pageSize = quantityValue(parseQuantity(hugePageSize(pod, medium)));
    return { type: 'hugetlbfs', options: [`pagesize=${String(pageSize)}`, ...ownerOptions(pod, 0)] };
  }
  throw new StateletError('InvalidArgument', `unknown storage medium "${medium}"`);
}

/** For files that must not be on a disk. As with the kubelet, it has the size of an emptyDir in memory without a limit. */
export function filesFilesystem(pod: Pod, allocatable: ResourceList): MemoryFilesystem {
  return memoryFilesystem(pod, tmpfsSize(pod, undefined, allocatable));
}

/** `sizeBytes` 0: the kernel's default size. */
function memoryFilesystem(pod: Pod, sizeBytes: bigint): MemoryFilesystem {
  const size = sizeBytes > 0n ? [`size=${String(sizeBytes)}`] : [];
  return { type: 'tmpfs', options: [...size, ...ownerOptions(pod, STICKY)] };
}

/** With this bit, as in `/tmp`, only the owner of a file can remove it. A tmpfs has it by default; the kubelet keeps it. */
const STICKY = 0o1000;

function ownerOptions(pod: Pod, bits: number): string[] {
  const fsGroup = podFsGroup(pod);
  const mode = `mode=${(volumeRootMode(fsGroup) | bits).toString(8)}`;
  return fsGroup === undefined ? [mode] : [mode, `gid=${fsGroup}`];
}

/** The smallest of the limits of the volume, the pod and the node, in bytes. Limits that are not positive do not count. */
function tmpfsSize(pod: Pod, sizeLimit: string | undefined, allocatable: ResourceList): bigint {
  const bounds = [parsed(allocatable.memory), podMemoryLimit(pod), parsed(sizeLimit)];
  const sizes = bounds.filter(({ nanos }) => nanos > 0n).map(quantityValue);
  return sizes.reduce((least, size) => (size < least ? size : least), sizes[0] ?? 0n);
}

/** A pod has a limit if its spec has one, or if each of its containers has one. Zero if it has no limit. */
function podMemoryLimit(pod: Pod): Quantity {
  const isLimited = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].every(
    ({ resources }) => parsed(resources?.limits?.memory).nanos > 0n,
  );
  if (!isLimited && pod.spec.resources?.limits?.memory === undefined) return ZERO_QUANTITY;
  return podLimits(pod).get('memory') ?? ZERO_QUANTITY;
}

/** The page size as the pod spells it: that of the medium's name, else the only size that the pod's containers request. */
function hugePageSize(pod: Pod, medium: string): string {
  const requested = hugePageSizes(pod);
  const wanted = medium === HUGE_PAGES ? undefined : medium.slice(HUGE_PAGES.length + 1);
  const matching = requested.filter((size) => wanted === undefined || isSameSize(size, wanted));
  const [size, another] = matching;
  if (size !== undefined && another === undefined) return size;
  const problem =
    size === undefined
      ? `no container requests ${HUGE_PAGES_RESOURCE}${wanted ?? 'SIZE'}`
      : `containers request several page sizes (${matching.join(', ')}): name one in the medium`;
  throw new StateletError('InvalidArgument', `emptyDir.medium ${medium}: ${problem}`);
}

function hugePageSizes({ spec }: Pod): readonly string[] {
  const names = podContainers(spec).flatMap(({ resources }) =>
    Object.keys({ ...resources?.limits, ...resources?.requests }),
  );
  const sizes = names.filter((name) => name.startsWith(HUGE_PAGES_RESOURCE));
  return [...new Set(sizes.map((name) => name.slice(HUGE_PAGES_RESOURCE.length)))];
}

function isSameSize(a: string, b: string): boolean {
  return compareQuantity(parseQuantity(a), parseQuantity(b)) === 0;
}

function parsed(text: string | undefined): Quantity {
  return text === undefined ? ZERO_QUANTITY : parseQuantity(text);
}

export interface VolumeSizeLimit {
  readonly volume: string;
  readonly limitBytes: bigint;
  /** In memory the kernel enforces the limit. On the disk a pod that exceeds it has to be evicted. */
  readonly inMemory: boolean;
}

/** The emptyDir volumes of the pod that have a limit. Throws what `parseQuantity` throws. */
export function volumeSizeLimits({ spec }: Pod): readonly VolumeSizeLimit[] {
  return (spec.volumes ?? []).flatMap(({ name, emptyDir }) => {
    const limitBytes = quantityValue(parsed(emptyDir?.sizeLimit));
    if (limitBytes <= 0n) return [];
    return [{ volume: name, limitBytes, inMemory: (emptyDir?.medium ?? '') !== '' }];
  });
}
