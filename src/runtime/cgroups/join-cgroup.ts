import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CgroupMounts, findCgroupMounts } from '../../policies/cgroups/cgroup-mounts.ts';
import { makeFolderSync } from '../../system/make-folder.ts';
import { errorMessage } from '../../types/errors.ts';
import type { Logger } from '../../types/logger.ts';

/** What the kernel takes for the process that writes it. */
const THIS_PROCESS = '0';

/**
 * Moves this process into a cgroup, which is made if it is missing. As with the kubelet, the agent goes on where that fails. Empty: it
 * stays where it is. `mountinfoFile`: default that of this process.
 */
export function joinCgroup(
  group: string,
  logger: Pick<Logger, 'warn'>,
  mountinfoFile = '/proc/self/mountinfo',
): void {
  if (group === '') return;
  try {
    const tops = mountPoints(findCgroupMounts(readFileSync(mountinfoFile, 'utf8')));
    if (tops.length === 0) throw new Error('no cgroup file system is mounted');
    for (const top of tops) {
      const folder = join(top, group);
      makeFolderSync(folder);
      writeFileSync(join(folder, 'cgroup.procs'), THIS_PROCESS);
    }
  } catch (error) {
    const problem = `the agent could not be moved into the cgroup ${group}: ${errorMessage(error)}`;
    logger.warn({}, `--kubelet-cgroups: ${problem}`);
  }
}

/** Of v1, the hierarchies that limit or count something. A new group of cpuset takes no process before it has been given CPUs. */
function mountPoints({ version, hierarchies }: CgroupMounts): readonly string[] {
  const wanted = hierarchies.filter(
    ({ controllers }) => version === 2 || (controllers.length > 0 && !controllers.includes('cpuset')),
  );
  return wanted.map(({ mountPoint }) => mountPoint);
}
