/** Programs on a kernel that has nothing but cgroup v2: user-mode-linux, a kernel that is an ordinary process of this machine. */
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe } from '@jest/globals';
import { bundled } from '../../scripts/jest/bundled.ts';
import { DISK, reportIn } from './kernel-report.ts';

const KERNEL = 'linux.uml';
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const isThere = spawnSync(KERNEL, ['--version'], { stdio: 'ignore' }).status === 0;
/** Ends a machine that hangs. */
const BOOT_MS = 600_000;
const END = 'END OF THE PROGRAM';
/** Folders of its own: the machine does not see those of this machine. */
const OWN_FOLDERS = ['/tmp', '/run', '/var/log', '/etc/systemd'];
/** The checkout may be in one of these, and so may Node. */
const NEEDED = [ROOT, dirname(process.execPath)];
const isHidden = (path: string) => OWN_FOLDERS.some((folder) => path.startsWith(`${folder}/`));

/** A suite about what a program reports from such a kernel. Where that is not installed it is skipped, and stderr says so. */
export function userModeLinuxSuite(name: string, suite: () => void): void {
  if (!isThere) {
    process.stderr.write(
      `\nSKIPPED, NOTHING PROVED: "${name}" needs user-mode-linux (apt-get install user-mode-linux).\n`,
    );
  }
  (isThere ? describe : describe.skip)(name, suite);
}

export interface Machine {
  readonly memoryMiB?: number;
  /** Default: none. */
  readonly swapMiB?: number;
  /** A folder that the program may change, as `DISK`. It outlives the machine, whose power goes off at the end. */
  readonly disk?: string;
  /** systemd is the first process, and the program a service of it. */
  readonly hasSystemd?: boolean;
}

/**
 * Boots, runs the program as root, and resolves with its report. The program sees the files of this machine and cannot change them, but for
 * /tmp, /run and /var/log, which are its own. It runs in Node without a JIT, which would crash the kernel, and so without WebAssembly; so does
 * each program of Node that it starts with `process.execArgv`. Its argument is the root of this repository.
 */
export async function reportFromKernel(program: URL, machine: Machine = {}): Promise<unknown> {
  // Not in /tmp, which the program does not see.
  const folder = mkdtempSync(join('/var/tmp', 'statelet-uml-'));
  try {
    const file = join(folder, 'program.mjs');
    copyFileSync(bundled(program), file);
    return reportIn(await booted(initOf(file, folder, machine), folder, machine));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function initOf(file: string, folder: string, machine: Machine): string {
  const init = join(folder, 'init');
  const { swapMiB, disk, hasSystemd = false } = machine;
  const swap = ['mknod -m 600 /tmp/swap b 98 0', 'mkswap /tmp/swap >/tmp/mkswap', 'swapon /tmp/swap'];
  const program = `'${process.execPath}' --jitless '${file}' '${ROOT}'; echo '${END}'`;
  const lines = [
    '#!/bin/sh',
    'export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp',
    'mount -t proc proc /proc',
    'mount -t sysfs sysfs /sys',
    `for folder in ${OWN_FOLDERS.join(' ')}; do mount -t tmpfs tmpfs $folder; done`,
    ...NEEDED.filter(isHidden).map(
      (path) => `mkdir -p '${path}' && mount -r -t hostfs -o '${path}' none '${path}'`,
    ),
    'mount -t cgroup2 cgroup2 /sys/fs/cgroup',
    ...(swapMiB === undefined ? [] : swap),
    ...(disk === undefined ? [] : [`mount -t hostfs -o '${disk}' none ${DISK}`]),
    ...(hasSystemd ? underSystemd(program) : [program]),
    // The kernel panics if its first process ends.
    'exec sleep 1000',
  ];
  writeFileSync(init, `${lines.join('\n')}\n`);
  chmodSync(init, 0o755);
  return init;
}

/** systemd starts nothing beside the program. */
function underSystemd(program: string): readonly string[] {
  return [
    'mkdir /etc/systemd/system',
    "cat > /etc/systemd/system/program.target <<'END'",
    ...['[Unit]', 'DefaultDependencies=no', 'Wants=program.service', 'END'],
    "cat > /etc/systemd/system/program.service <<'END'",
    ...['[Unit]', 'DefaultDependencies=no', '[Service]'],
    ...[
      'StandardOutput=append:/dev/console',
      'StandardError=append:/dev/console',
      'ExecStart=/run/program',
      'END',
    ],
    "cat > /run/program <<'END'",
    ...['#!/bin/sh', program, 'END'],
    'chmod +x /run/program',
    // Without this, systemd looks for devices.
    'export container=user-mode-linux',
    'exec /lib/systemd/systemd --unit=program.target --log-target=console --show-status=0',
  ];
}

/** The output until the end of the program. */
async function booted(init: string, folder: string, { memoryMiB = 256, swapMiB }: Machine): Promise<string> {
  const root = ['rootfstype=hostfs', 'rootflags=/', 'ro', `init=${init}`, 'quiet'];
  const consoles = ['con=null', 'con0=fd:0,fd:1'];
  const disk = join(folder, 'swap');
  if (swapMiB !== undefined) {
    writeFileSync(disk, '');
    truncateSync(disk, swapMiB * 2 ** 20);
  }
  const flags = [
    `mem=${memoryMiB}M`,
    ...root,
    ...consoles,
    ...(swapMiB === undefined ? [] : [`ubd0=${disk}`]),
  ];
  // A process group of its own: each process of the machine is also a process here.
  const [program, ...args] = [...scheduling(), KERNEL, ...flags];
  const kernel = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  const kill = () => void process.kill(-(kernel.pid ?? 0), 'SIGKILL');
  const deadline = setTimeout(kill, BOOT_MS);
  let output = '';
  try {
    for await (const piece of kernel.stdout.setEncoding('utf8')) {
      output += String(piece);
      if (output.includes(END)) kill();
    }
    return output;
  } finally {
    clearTimeout(deadline);
  }
}

/**
 * Each system call in the machine is two changes between processes here. On one CPU they take half the CPU time. With the priority of real time,
 * which root may have, none of them waits on a busy machine: a machine that took four minutes beside two suites of tests takes one.
 */
function scheduling(): readonly [string, ...string[]] {
  const [, cpu = '0'] = /^Cpus_allowed_list:.*?(\d+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  const [program, ...priority] = ['chrt', '--rr', '1'] as const;
  const isAllowed = spawnSync(program, [...priority, 'true'], { stdio: 'ignore' }).status === 0;
  return ['taskset', '--cpu-list', cpu, ...(isAllowed ? [program, ...priority] : [])];
}
