/** How the kinds of volumes that need no object are set up: an emptyDir on the disk or in memory, a hostPath by its type. */
import { StateletError } from '../../../types/errors.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import {
  compareQuantity,
  parseQuantity,
  type Quantity,
  quantityOrZero,
  quantityValue,
  ZERO_QUANTITY,
} from '../formats/quantity.ts';
import { podLimits, type ResourceList } from '../pod/resources.ts';
import { podFsGroup, volumeRootMode } from './volume-ownership.ts';
import { podContainers, type Volume } from './volume-source.ts';

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
  const bounds = [quantityOrZero(allocatable.memory), podMemoryLimit(pod), quantityOrZero(sizeLimit)];
  const sizes = bounds.filter(({ nanos }) => nanos > 0n).map(quantityValue);
  return sizes.reduce((least, size) => (size < least ? size : least), sizes[0] ?? 0n);
}

/** A pod has a limit if its spec has one, or if each of its containers has one. Zero if it has no limit. */
function podMemoryLimit(pod: Pod): Quantity {
  const isLimited = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].every(
    ({ resources }) => quantityOrZero(resources?.limits?.memory).nanos > 0n,
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

/** What a path leads to when symbolic links are followed. */
export type FileKind = 'directory' | 'file' | 'socket' | 'character device' | 'block device' | 'other';

export interface HostPathCheck {
  /** What is created if nothing exists at the path. */
  readonly create?: { readonly kind: 'directory' | 'file'; readonly mode: number };
  /** Why the check failed, in the kubelet's words; undefined if it passed. */
  problem(path: string, found: FileKind | undefined): string | undefined;
}

const expects =
  (what: string, fits: (found: FileKind) => boolean) =>
  (path: string, found: FileKind | undefined): string | undefined =>
    found !== undefined && fits(found) ? undefined : `hostPath type check failed: ${path} is not a ${what}`;

const isDirectory = expects('directory', (found) => found === 'directory');

/** As in the kubelet, everything that is no directory counts as a file. */
const isFile = expects('file', (found) => found !== 'directory');

const CHECKS: ReadonlyMap<string, HostPathCheck> = new Map<string, HostPathCheck>([
  ['DirectoryOrCreate', { create: { kind: 'directory', mode: 0o755 }, problem: isDirectory }],
  ['Directory', { problem: isDirectory }],
  ['FileOrCreate', { create: { kind: 'file', mode: 0o644 }, problem: isFile }],
  ['File', { problem: isFile }],
  ['Socket', { problem: expects('socket file', (found) => found === 'socket') }],
  ['CharDevice', { problem: expects('character device', (found) => found === 'character device') }],
  ['BlockDevice', { problem: expects('block device', (found) => found === 'block device') }],
]);

/** Undefined for the type '', which has no check. */
export function hostPathCheck(type: string): HostPathCheck | undefined {
  if (type === '') return undefined;
  const check = CHECKS.get(type);
  return check ?? { problem: () => `${type} is an invalid volume type` };
}
