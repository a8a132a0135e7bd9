/** Suites of tests with a real control plane. */
import { afterAll, beforeAll, describe } from '@jest/globals';
import {
  type ControlPlane,
  type ControlPlaneOptions,
  startControlPlane,
} from './control-plane/control-plane.ts';
import { noControlPlaneBecause } from './kubernetes-programs.ts';
import { later } from './later.ts';

export type { ControlPlane };

/**
 * A suite in which all tests share one control plane, which can be used in its tests, not before. Without its programs the suite is
 * skipped, and stderr says so.
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
