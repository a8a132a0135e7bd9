/** Suites of tests with a control plane: the double of this project, or a real one. */
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe } from '@jest/globals';
import { installKubectl } from './containerd/packages.ts';
import {
  type ControlPlane,
  type ControlPlaneOptions,
  startControlPlane,
} from './control-plane/control-plane.ts';
import {
  controlPlaneKind,
  kubectlProgram,
  noControlPlaneBecause,
  type ProgramsKind,
} from './kubernetes-programs.ts';
import { later } from './later.ts';

export type { ControlPlane };

export interface SuiteOptions extends ControlPlaneOptions {
  /** Why the double cannot serve: the suite runs on a real control plane alone, where there is one. */
  readonly needsReal?: string;
}

/** On which programs a suite runs. */
export function programsOf({ needsReal, programs }: SuiteOptions): ProgramsKind {
  return needsReal === undefined ? (programs ?? controlPlaneKind()) : 'real';
}

/** Why no such control plane can run here; undefined if it can. */
export function whySkipped(options: SuiteOptions = {}): string | undefined {
  if (process.geteuid?.() !== 0) return 'this is not root';
  if (programsOf(options) === 'double') return undefined;
  const why = noControlPlaneBecause();
  return why === undefined || options.needsReal === undefined ? why : `${options.needsReal}, and ${why}`;
}

/** Starts the control plane of a suite. */
export async function startOne(options: SuiteOptions): Promise<ControlPlane> {
  const programs = programsOf(options);
  if (!existsSync(kubectlProgram(programs))) await installKubectl();
  return startControlPlane({ ...options, programs });
}

/**
 * A suite in which all tests share one control plane, which can be used in its tests, not before. Where none can run, the suite is skipped,
 * and stderr says so.
 */
export function describeOnControlPlane(
  name: string,
  ...args:
    | [suite: (controlPlane: ControlPlane) => void]
    | [options: SuiteOptions, suite: (controlPlane: ControlPlane) => void]
): void {
  const [options, suite]: readonly [SuiteOptions, (controlPlane: ControlPlane) => void] =
    args.length === 1 ? [{}, args[0]] : args;
  const reason = whySkipped(options);
  if (reason !== undefined)
    process.stderr.write(`\nSKIPPED, NOTHING PROVED: "${name}" needs a control plane, and ${reason}.\n`);
  (reason === undefined ? describe : describe.skip)(name, () => {
    let started: ControlPlane | undefined;
    beforeAll(async () => {
      started = await startOne(options);
    });
    suite(later('the control plane', () => started));
    afterAll(() => started?.stop());
  });
}
