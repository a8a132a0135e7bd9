import { execFileSync } from 'node:child_process';
import { describe } from '@jest/globals';

/** Longest that a suite waits for its containerd when packages have to be installed first: for `beforeAll`. */
export const SET_UP_TIMEOUT_MS = 300_000;

/** Why containerd cannot run here; undefined if it can. */
export function noContainerdBecause(): string | undefined {
  if (process.platform !== 'linux') return `this is ${process.platform}, not Linux`;
  return process.geteuid?.() === 0 ? undefined : 'this is not root';
}

/** Whether PATH has a containerd of this version or a later one. */
export function hasContainerd(major: number): boolean {
  return noSuchContainerdBecause(major) === undefined;
}

/** Why the containerd of PATH does not do; `major`: its least version. */
function noSuchContainerdBecause(major: number): string | undefined {
  const reason = noContainerdBecause();
  if (reason !== undefined || major === 0) return reason;
  const [, found] = /\bv?(\d+)\.\d/.exec(versionOfContainerd()) ?? [];
  return Number(found) >= major ? undefined : `the one of PATH is ${found ?? 'none'}`;
}

function versionOfContainerd(): string {
  try {
    return execFileSync('containerd', ['--version'], { encoding: 'utf8' });
  } catch {
    return '';
  }
}

/** A suite with real containers. Without root, or with an older containerd than `major`, it is skipped, and stderr says so. */
export function describeWithContainerd(name: string, suite: () => void, major = 0): void {
  const reason = noSuchContainerdBecause(major);
  if (reason !== undefined) {
    const what = major === 0 ? 'a containerd' : `containerd ${major}`;
    process.stderr.write(`\nSKIPPED, NOTHING PROVED: "${name}" needs ${what}, and ${reason}.\n`);
  }
  const declare = reason === undefined ? describe : describe.skip;
  declare(name, suite);
}
