/** Programs on a kernel that has nothing but cgroup v2: user-mode-linux, a kernel that is an ordinary process of this machine. */
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe } from '@jest/globals';
import { build } from 'esbuild';
import { reportIn } from './kernel-report.ts';

const KERNEL = 'linux.uml';
const isThere = spawnSync(KERNEL, ['--version'], { stdio: 'ignore' }).status === 0;
const BOOT_MS = 120_000;
const END = 'END OF THE PROGRAM';

/** A suite about what a program reports from such a kernel. Where that is not installed it is skipped, and stderr says so. */
export function userModeLinuxSuite(name: string, suite: () => void): void {
  if (!isThere) {
    process.stderr.write(
      `\nSKIPPED, NOTHING PROVED: "${name}" needs user-mode-linux (apt-get install user-mode-linux).\n`,
    );
  }
  (isThere ? describe : describe.skip)(name, suite);
}

/**
 * Boots, runs the program as root, and resolves with its report. The program sees the files of this machine and cannot change them, but for
 * /tmp, which is its own. It runs in Node without a JIT, which would crash the kernel, and so without WebAssembly.
 */
export async function reportFromKernel(program: URL): Promise<unknown> {
  // Not in /tmp, which the program does not see.
  const folder = mkdtempSync(join('/var/tmp', 'statelet-uml-'));
  try {
    const bundle = await bundled(program, folder);
    return reportIn(await booted(initOf(bundle, folder)));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function bundled(program: URL, folder: string): Promise<string> {
  const outfile = join(folder, 'program.mjs');
  await build({
    entryPoints: [fileURLToPath(program)],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    logLevel: 'warning',
  });
  return outfile;
}

function initOf(bundle: string, folder: string): string {
  const init = join(folder, 'init');
  const lines = [
    '#!/bin/sh',
    'mount -t proc proc /proc',
    'mount -t sysfs sysfs /sys',
    'mount -t tmpfs tmpfs /tmp',
    'mount -t cgroup2 cgroup2 /sys/fs/cgroup',
    `'${process.execPath}' --jitless '${bundle}'`,
    `echo '${END}'`,
    // The kernel has no use for itself without its first process.
    'exec sleep 1000',
  ];
  writeFileSync(init, `${lines.join('\n')}\n`);
  chmodSync(init, 0o755);
  return init;
}

/** What was printed until the end of the program. */
async function booted(init: string): Promise<string> {
  const flags = ['mem=256M', 'rootfstype=hostfs', 'rootflags=/', 'ro', `init=${init}`, 'quiet'];
  const consoles = ['con=null', 'con0=fd:0,fd:1'];
  // A group of its own: each process of the machine in it is one here, too.
  const kernel = spawn(KERNEL, [...flags, ...consoles], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
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
