/** Suites of tests with a real control plane. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from '@jest/globals';
import {
  type ControlPlane,
  type ControlPlaneOptions,
  startControlPlane,
} from './control-plane/control-plane.ts';
import { later } from './later.ts';

export type { ControlPlane };

const NEEDED = ['etcd', 'kube-apiserver', 'kubectl'];

/** Why no control plane can run here; undefined if it can. */
export function noControlPlaneBecause(): string | undefined {
  const assets = process.env.KUBEBUILDER_ASSETS;
  if (assets === undefined || assets === '') return 'KUBEBUILDER_ASSETS is not set';
  const missing = NEEDED.filter((name) => !existsSync(join(assets, name)));
  if (missing.length > 0) return `KUBEBUILDER_ASSETS (${assets}) does not have ${missing.join(', ')}`;
  return process.geteuid?.() === 0 ? undefined : 'this is not root';
}

/**
 * A suite in which all tests share one control plane, which can be used in its tests, not before. Without KUBEBUILDER_ASSETS the suite
 * is skipped, and stderr says so.
 */
export function describeOnControlPlane(
  name: string,
  ...args:
    | [suite: (controlPlane: ControlPlane) => void]
    | [options: ControlPlaneOptions, suite: (controlPlane: ControlPlane) => void]
): void {
  const [options, suite] = args.length === 1 ? [{}, args[0]] : args;
  const reason = noControlPlaneBecause();
  if (reason !== undefined)
    process.stderr.write(`\nSKIPPED, NOTHING PROVED: "${name}" needs a control plane, and ${reason}.\n`);
  (reason === undefined ? describe : describe.skip)(name, () => {
    let started: ControlPlane | undefined;
    beforeAll(async () => {
      started = await startControlPlane(options);
    });
    suite(later('the control plane', () => started));
    afterAll(() => started?.stop());
  });
}
