/** Whether the machine suffices for a node with many pods: limits on files, the kernel's version, swap. */
import { type Finding, findingsOf, type Reading } from './finding.ts';

export interface LimitFacts {
  /** Infinity: no limit. */
  readonly openFiles: Reading<number>;
  readonly inotifyInstances: Reading<number>;
  readonly inotifyWatches: Reading<number>;
  readonly maxPods: number;
}

/** Sockets of clients, logs and watches of one pod: more than is usual. */
const FILES_PER_POD = 50;
const FILES_BESIDE = 1024;
/** The kernel's default of old, with which nodes of many pods have run out. */
const LEAST_INSTANCES = 128;
const LEAST_WATCHES = 8192;

export function limitFindings(facts: LimitFacts): readonly Finding[] {
  return [openFilesFinding(facts), ...inotifyFindings(facts)];
}

function openFilesFinding({ openFiles, maxPods }: LimitFacts): Finding {
  const { ok, warning, unread } = findingsOf('open-files');
  if ('problem' in openFiles) return unread('/proc/self/limits', openFiles, 'mount /proc');
  const wanted = FILES_BESIDE + FILES_PER_POD * maxPods;
  const shown = openFiles.value === Infinity ? 'no limit' : String(openFiles.value);
  if (openFiles.value >= wanted) return ok(shown);
  return warning(
    `${shown} open files for a process started here; ${maxPods} pods may need ${wanted}`,
    'LimitNOFILE=1048576 in the unit of systemd (examples/systemd has it), or ulimit -n 1048576',
  );
}

function inotifyFindings({ inotifyInstances, inotifyWatches }: LimitFacts): readonly Finding[] {
  const { ok, warning, unread } = findingsOf('inotify');
  const limits = [
    { name: 'fs.inotify.max_user_instances', reading: inotifyInstances, least: LEAST_INSTANCES },
    { name: 'fs.inotify.max_user_watches', reading: inotifyWatches, least: LEAST_WATCHES },
  ];
  const problems = limits.flatMap(({ name, reading, least }) => {
    if ('problem' in reading) return [unread(name, reading, 'mount /proc')];
    if (reading.value >= least) return [];
    const line = `${name}=${least * 8}`;
    const mend = `sysctl -w ${line}, and echo ${line} > /etc/sysctl.d/90-statelet.conf so that it stays`;
    return [warning(`${name} is ${reading.value}: watches of files will fail`, mend)];
  });
  const shown = limits.map(({ name, reading }) => `${name} ${'value' in reading ? reading.value : ''}`);
  return problems.length > 0 ? problems : [ok(shown.join(', '))];
}

/** The oldest kernel with long-term support that Kubernetes 1.36 is checked with (system-validators). */
const OLDEST = [4, 19] as const;

/** `release`: as uname(2) has it, `6.12.41+deb13-amd64`. */
export function kernelFindings(release: string): readonly Finding[] {
  const { ok, warning, unknown } = findingsOf('kernel');
  const [, major, minor] = /^(\d+)\.(\d+)/u.exec(release) ?? [];
  if (major === undefined || minor === undefined) return [unknown(`the kernel calls itself "${release}"`)];
  const isOld = Number(major) < OLDEST[0] || (Number(major) === OLDEST[0] && Number(minor) < OLDEST[1]);
  if (!isOld) return [ok(`Linux ${release}`)];
  return [
    warning(
      `Linux ${release} is older than ${OLDEST.join('.')}, the oldest that Kubernetes is tested with`,
      'install a newer kernel (Debian: apt-get install linux-image-amd64) and reboot',
    ),
  ];
}

export interface SwapFacts {
  /** Files and devices that the machine swaps to. */
  readonly devices: Reading<readonly string[]>;
  readonly failSwapOn: boolean;
  readonly swapBehavior: string;
}

export function swapFindings({ devices, failSwapOn, swapBehavior }: SwapFacts): readonly Finding[] {
  const { ok, warning, unread } = findingsOf('swap');
  if ('problem' in devices) return [unread('/proc/swaps', devices, 'mount /proc')];
  if (devices.value.length === 0) return [ok('off')];
  const where = devices.value.join(', ');
  const use = swapBehavior === 'LimitedSwap' ? 'Burstable pods use it' : 'pods do not use it';
  if (!failSwapOn) return [ok(`on (${where}), ${use} (memorySwap.swapBehavior)`)];
  return [
    warning(
      `on (${where}), and failSwapOn is true: the kubelet would not start so; Statelet does, and ${use}`,
      'swapoff -a, and take the swap out of /etc/fstab; or set failSwapOn: false',
    ),
  ];
}

/** The first column of `/proc/swaps`, below its heading. */
export function swapDevices(text: string): readonly string[] {
  return text
    .split('\n')
    .slice(1)
    .flatMap((line) => /^\S+/u.exec(line)?.[0] ?? []);
}
