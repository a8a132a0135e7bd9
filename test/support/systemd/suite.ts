import { describe } from '@jest/globals';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { noContainerdBecause } from '../containerd/suite.ts';

const SYSTEMD = '/lib/systemd/systemd';
const PROGRAMS = ['unshare', 'nsenter', 'setpriv', 'systemctl', 'mount'];

/** Why systemd cannot run here as process 1 of its own namespaces; undefined if it can. */
export function noSystemdBecause(): string | undefined {
  const missing = [SYSTEMD, ...PROGRAMS].find((program) => !isInstalled(program));
  if (missing !== undefined) return `${missing} is not installed`;
  if (existsSync('/sys/fs/cgroup/cgroup.controllers')) return 'this machine has cgroup v2 alone';
  return noContainerdBecause();
}

function isInstalled(program: string): boolean {
  const folders = program.startsWith('/') ? ['/'] : (process.env.PATH ?? '').split(delimiter);
  return folders.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** A suite with systemd as process 1. Where that is not possible, it is skipped, and stderr says so. */
export function describeWithSystemd(name: string, suite: () => void): void {
  const reason = noSystemdBecause();
  if (reason !== undefined) {
    process.stderr.write(`\nSKIPPED, NOTHING PROVED: "${name}" needs systemd as process 1, and ${reason}.\n`);
  }
  (reason === undefined ? describe : describe.skip)(name, suite);
}
