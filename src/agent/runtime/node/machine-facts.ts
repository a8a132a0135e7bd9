/** Facts of the machine that containers' configurations depend on. They do not change while the agent runs. */
import { access, readdir, readFile } from 'node:fs/promises';
import { release, totalmem } from 'node:os';
import { join } from 'node:path';
import { hugePageSizeName } from '../../policies/pod/resources.ts';
import { readProvidedFile } from '../../../system/files/foreign-file.ts';
import { meminfoBytes } from '../stats/small-files.ts';

const HUGE_PAGES = 'sys/kernel/mm/hugepages';

export interface MachineFacts {
  readonly memoryCapacityBytes: number;
  /** 0: there is no swap. */
  readonly swapCapacityBytes: number;
  readonly pageSizeBytes: number;
  /** As cgroups call them: `2MB`. */
  readonly hugePageSizes: readonly string[];
  /** Whether cgroups limit swap. */
  readonly swapController: boolean;
  /** Files of the machine that containers must not see: from the heat of CPUs one can conclude what others compute. */
  readonly maskedPaths: readonly string[];
  /** Whether the kernel enforces AppArmor. */
  readonly appArmor: boolean;
  /** Whether SELinux is enabled, in permissive mode as well. */
  readonly selinux: boolean;
}

/** A fact that cannot be read counts as missing. `root`: where `/proc` and `/sys` are. */
export async function readMachineFacts(cgroupVersion: 1 | 2, root = '/'): Promise<MachineFacts> {
  const [hugePageSizes, swapController, meminfo, auxv, maskedPaths, appArmor, selinux] = await Promise.all([
    readHugePageSizes(root),
    hasSwapController(cgroupVersion, root),
    readText(join(root, 'proc/meminfo')),
    readFile(join(root, 'proc/self/auxv')).catch(() => Buffer.alloc(0)),
    thermalPaths(root),
    readText(join(root, 'sys/module/apparmor/parameters/enabled')),
    hasSELinux(root),
  ]);
  return {
    memoryCapacityBytes: totalmem(),
    swapCapacityBytes: meminfoBytes(meminfo, 'SwapTotal'),
    pageSizeBytes: pageSizeIn(auxv),
    hugePageSizes,
    swapController,
    maskedPaths,
    appArmor: appArmor.startsWith('Y'),
    selinux,
  };
}

/** How many huge pages the machine has reserved, by the size of a page in bytes, smallest first. */
export function readHugePages(root = '/'): Promise<ReadonlyMap<number, number>> {
  return readHugePagesIn(join(root, HUGE_PAGES));
}

/** `folder`: that of the kernel for the machine, or for one NUMA node. */
export async function readHugePagesIn(folder: string): Promise<ReadonlyMap<number, number>> {
  const sizes = (await namesIn(folder)).flatMap((name) => /^hugepages-(\d+)kB$/.exec(name)?.[1] ?? []);
  const counts = sizes.map(async (kibibytes): Promise<[number, number]> => {
    const count = await readText(join(folder, `hugepages-${kibibytes}kB`, 'nr_hugepages'));
    return [Number(kibibytes) * 1024, Number(count)];
  });
  return new Map((await Promise.all(counts)).sort(([a], [b]) => a - b));
}

/** How many processes and threads the machine can have: the lower of the kernel's two limits. Rejects where they cannot be read. */
export async function readMaxPIDs(root = '/'): Promise<number> {
  const folder = join(root, 'proc/sys/kernel');
  const bounds = ['pid_max', 'threads-max'].map((name) => readFile(join(folder, name), 'utf8'));
  return Math.min(...(await Promise.all(bounds)).map(Number));
}

async function readHugePageSizes(root: string): Promise<readonly string[]> {
  return Array.from((await readHugePages(root)).keys(), hugePageSizeName);
}

/**
 * The root of cgroup v2 has no such file. So this process's own cgroup is asked, and those directly below the root, as the process may be in
 * the root itself.
 */
async function hasSwapController(cgroupVersion: 1 | 2, root: string): Promise<boolean> {
  const top = join(root, 'sys/fs/cgroup');
  if (cgroupVersion === 1) return exists(join(top, 'memory/memory.memsw.limit_in_bytes'));
  const own = /^0::(.*)$/m.exec(await readText(join(root, 'proc/self/cgroup')))?.[1] ?? '';
  const groups = [own, ...(await namesIn(top))];
  const found = await Promise.all(groups.map((group) => exists(join(top, group, 'memory.swap.max'))));
  return found.includes(true);
}

const AT_PAGESZ = 6n;
const PAGE_BYTES = 4096;

/** The size of the kernel's pages, from what the kernel hands to each process: pairs of a key and a value. */
function pageSizeIn(auxv: Buffer): number {
  for (let at = 0; at + 16 <= auxv.length; at += 16)
    if (auxv.readBigUInt64LE(at) === AT_PAGESZ) return Number(auxv.readBigUInt64LE(at + 8));
  return PAGE_BYTES;
}

/** Until a policy is loaded, every process has the label `kernel`, and labels have no effect. */
async function hasSELinux(root: string): Promise<boolean> {
  if (!(await exists(join(root, 'sys/fs/selinux/enforce')))) return false;
  return !/^kernel[\0\s]*$/.test(await readText(join(root, 'proc/self/attr/current')));
}

/**
 * The label that files of containers have, as the policy of the machine says; undefined where SELinux is off, or the policy knows no
 * containers.
 */
export async function containerFilesLabel(root = '/'): Promise<string | undefined> {
  if (!(await hasSELinux(root))) return undefined;
  const etc = join(root, 'etc/selinux');
  const [, policy = 'targeted'] = /^SELINUXTYPE=(\S+)/m.exec(await readText(join(etc, 'config'))) ?? [];
  const contexts =
    (await readText(join(root, 'usr/share/containers/selinux/contexts'))) ||
    (await readText(join(etc, policy, 'contexts/lxc_contexts')));
  return /^file\s*=\s*"?([^"\s]+)/m.exec(contexts)?.[1];
}

async function thermalPaths(root: string): Promise<readonly string[]> {
  const cpus = (await namesIn(join(root, 'sys/devices/system/cpu'))).filter((name) => /^cpu\d+$/.test(name));
  const paths = cpus.map((cpu) => `/sys/devices/system/cpu/${cpu}/thermal_throttle`);
  const there = await Promise.all(paths.map((path) => exists(join(root, path))));
  return paths.filter((_, index) => there[index]);
}

function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}

function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

export interface NodeInfo {
  /** Empty where the machine has none. */
  readonly machineID: string;
  readonly systemUUID: string;
  /** Another one after each boot. */
  readonly bootID: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  /** 0: the machine has no swap. */
  readonly swapBytes: number;
}

const MACHINE_ID = ['etc/machine-id', 'var/lib/dbus/machine-id'];

/** From the firmware; on machines without such, from what stands in its place. */
const SYSTEM_UUID = [
  'sys/class/dmi/id/product_uuid',
  'proc/device-tree/system-id',
  'proc/device-tree/vm,uuid',
  'etc/machine-id',
];

const BOOT_ID = ['proc/sys/kernel/random/boot_id'];

const OS_RELEASE = ['etc/os-release', 'usr/lib/os-release'];

/** Where a file cannot be read, the field is empty. `root`: where `/etc`, `/proc` and `/sys` are. */
export async function readNodeInfo(root = '/'): Promise<NodeInfo> {
  const [machineID, systemUUID, bootID, osRelease, memory] = await Promise.all(
    [MACHINE_ID, SYSTEM_UUID, BOOT_ID, OS_RELEASE, ['proc/meminfo']].map((paths) =>
      firstReadable(root, paths),
    ),
  );
  return {
    machineID: machineID ?? '',
    systemUUID: systemUUID ?? '',
    bootID: bootID ?? '',
    kernelVersion: release(),
    osImage: prettyName(osRelease ?? ''),
    swapBytes: meminfoBytes(memory ?? '', 'SwapTotal'),
  };
}

/** The text of the first file that can be read and is not empty, without zero bytes and blanks around it. */
async function firstReadable(root: string, paths: readonly string[]): Promise<string> {
  for (const path of paths) {
    const text = await textOf(join(root, path)).catch(() => '');
    const trimmed = text.replaceAll('\0', '').trim();
    if (trimmed !== '') return trimmed;
  }
  return '';
}

/** Files of the kernel say nothing of their size, and all of these end. */
function textOf(path: string): Promise<string> {
  return /^\/(?:proc|sys)\//.test(path) ? readFile(path, 'utf8') : readProvidedFile(path);
}

/** `PRETTY_NAME` of an os-release file. */
function prettyName(text: string): string {
  const name = /^PRETTY_NAME=(.*)$/m
    .exec(text)?.[1]
    ?.trim()
    .replace(/^(["'])(.*)\1$/, '$2');
  return name ?? 'Linux';
}
