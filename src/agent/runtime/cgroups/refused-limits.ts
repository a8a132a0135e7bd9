import type { CgroupValue } from '../../policies/cgroups/cgroup-values.ts';
import { errnoCode } from '../../../system/system-errors.ts';
import { StateletError } from '../../../types/errors.ts';
import { memoryPaths, workingSet } from '../stats/memory-files.ts';
import { readSmallFile } from '../stats/small-files.ts';
import type { CgroupDriver } from './cgroup-driver.ts';
import type { CgroupTree } from './cgroup-tree.ts';

/**
 * Writes the limits of a group in which something may run. Resolves to why some could not be written yet: what is there uses more, or groups
 * below have more. Rejects with any other error.
 */
export async function refusedLimits(
  tree: CgroupTree,
  driver: CgroupDriver,
  group: string,
  values: readonly CgroupValue[],
): Promise<readonly string[]> {
  const excesses = values.map((value) => excess(tree, group, value));
  const possible = values.filter((_, index) => excesses[index] === undefined);
  const refused = excesses.filter((text) => text !== undefined);
  if ((await refusal(driver, group, possible)) === undefined) return refused;
  for (const value of possible) {
    const text = await refusal(driver, group, [value]);
    if (text !== undefined) refused.push(text);
  }
  return refused;
}

/** EBUSY: more memory or more processes are in use. EINVAL: a group below has a larger CPU quota (v1). */
const REFUSALS: readonly (string | undefined)[] = ['EBUSY', 'EINVAL'];

async function refusal(
  driver: CgroupDriver,
  group: string,
  values: readonly CgroupValue[],
): Promise<string | undefined> {
  try {
    await driver.write(group, values);
    return undefined;
  } catch (error) {
    if (error instanceof StateletError && REFUSALS.includes(errnoCode(error.cause))) return error.message;
    throw error;
  }
}

/** cgroup v2 takes any limit of memory, and kills until the group is below it. */
function excess(tree: CgroupTree, group: string, { file, value }: CgroupValue): string | undefined {
  const paths = file === 'memory.max' ? memoryPaths(tree, group) : undefined;
  const used = paths && workingSet(tree.version, readSmallFile(paths.usage), readSmallFile(paths.stat));
  if (paths === undefined || used === undefined || used <= Number(value)) return undefined;
  return `${paths.limit} is not set to "${value}": ${used} bytes are used, and the kernel would kill processes there`;
}
