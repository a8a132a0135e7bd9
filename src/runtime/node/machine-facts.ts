/** What this machine has that the configuration of containers depends on. None of it changes while the agent runs. */
import { access, readdir, readFile } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { hugePageSizeName } from '../../policies/pod/huge-pages.ts';

const HUGE_PAGES = 'sys/kernel/mm/hugepages';

export interface MachineFacts {
  readonly memoryCapacityBytes: number;
  /** As cgroups call them: `2MB`. */
  readonly hugePageSizes: readonly string[];
  /** Whether cgroups limit swap. */
  readonly swapController: boolean;
  /** What containers must not see of this machine: how hot its CPUs are tells what others compute. */
  readonly maskedPaths: readonly string[];
  /** Whether the kernel enforces AppArmor. */
  readonly appArmor: boolean;
  /** Whether SELinux is enabled, be it only to warn. */
  readonly selinux: boolean;
}

/** What cannot be read is not there. `root`: where `/proc` and `/sys` are. */
export async function readMachineFacts(cgroupVersion: 1 | 2, root = '/'): Promise<MachineFacts> {
  const [hugePageSizes, swapController, maskedPaths, appArmor, selinux] = await Promise.all([
    readHugePageSizes(root),
    hasSwapController(cgroupVersion, root),
    thermalPaths(root),
    readText(join(root, 'sys/module/apparmor/parameters/enabled')),
    hasSELinux(root),
  ]);
  return {
    memoryCapacityBytes: totalmem(),
    hugePageSizes,
    swapController,
    maskedPaths,
    appArmor: appArmor.startsWith('Y'),
    selinux,
  };
}

/** How many huge pages the machine has set apart, by the bytes of one: smaller pages first. */
export async function readHugePages(root = '/'): Promise<ReadonlyMap<number, number>> {
  const folder = join(root, HUGE_PAGES);
  const sizes = (await namesIn(folder)).flatMap((name) => /^hugepages-(\d+)kB$/.exec(name)?.[1] ?? []);
  const counts = sizes.map(async (kibibytes): Promise<[number, number]> => {
    const count = await readText(join(folder, `hugepages-${kibibytes}kB`, 'nr_hugepages'));
    return [Number(kibibytes) * 1024, Number(count)];
  });
  return new Map((await Promise.all(counts)).sort(([a], [b]) => a - b));
}

/** How many processes and threads the machine can have: the kernel sets two bounds. Rejects where it does not tell. */
export async function readMaxPIDs(root = '/'): Promise<number> {
  const folder = join(root, 'proc/sys/kernel');
  const bounds = ['pid_max', 'threads-max'].map((name) => readFile(join(folder, name), 'utf8'));
  return Math.min(...(await Promise.all(bounds)).map(Number));
}

async function readHugePageSizes(root: string): Promise<readonly string[]> {
  return Array.from((await readHugePages(root)).keys(), hugePageSizeName);
}

/** The root of cgroup v2 has no such file, so that it is looked for in our own cgroup. */
async function hasSwapController(cgroupVersion: 1 | 2, root: string): Promise<boolean> {
  if (cgroupVersion === 1) return exists(join(root, 'sys/fs/cgroup/memory/memory.memsw.limit_in_bytes'));
  const own = /^0::(.*)$/m.exec(await readText(join(root, 'proc/self/cgroup')))?.[1];
  return own !== undefined && exists(join(root, 'sys/fs/cgroup', own, 'memory.swap.max'));
}

/** Until a policy is loaded everything has the label `kernel`, and nothing is decided by labels. */
async function hasSELinux(root: string): Promise<boolean> {
  if (!(await exists(join(root, 'sys/fs/selinux/enforce')))) return false;
  return !/^kernel[\0\s]*$/.test(await readText(join(root, 'proc/self/attr/current')));
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
