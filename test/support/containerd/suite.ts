import { describe } from '@jest/globals';

/** Longest that a suite waits for its containerd when packages have to be installed first: for `beforeAll`. */
export const SET_UP_TIMEOUT_MS = 300_000;

/** Why containerd cannot run here; undefined if it can. */
export function noContainerdBecause(): string | undefined {
  if (process.platform !== 'linux') return `this is ${process.platform}, not Linux`;
  return process.geteuid?.() === 0 ? undefined : 'this is not root';
}

/** A suite with real containers. Without root it is skipped, and stderr says so. */
export function describeWithContainerd(name: string, suite: () => void): void {
  const reason = noContainerdBecause();
  if (reason !== undefined) {
    process.stderr.write(`\nSKIPPED, NOTHING PROVED: "${name}" needs a containerd, and ${reason}.\n`);
  }
  const declare = reason === undefined ? describe : describe.skip;
  declare(name, suite);
}
