import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { StateletConfig } from '../agent/config/config.ts';
import { findCgroupMounts } from '../agent/policies/cgroups/cgroup-mounts.ts';
import type { CgroupFacts, CgroupMountFacts } from './policies/cgroup-findings.ts';
import { parseMountInfo } from '../agent/policies/formats/mountinfo.ts';
import { kernelText, mapped, valueOr } from './reading.ts';

/** `mountinfo`: default that of this process. */
export async function cgroupFacts(
  { node }: Pick<StateletConfig, 'node'>,
  mountinfo = '/proc/self/mountinfo',
): Promise<CgroupFacts> {
  const { cgroupRoot, cgroupsPerQOS, podPidsLimit } = node;
  const text = await kernelText(mountinfo);
  const { version, hierarchies } = findCgroupMounts(valueOr(text, ''));
  const readOnly = new Set(
    parseMountInfo(valueOr(text, '')).flatMap((mount) => (mount.readOnly ? mount.path : [])),
  );
  const mounts = await Promise.all(
    hierarchies.map(async ({ mountPoint, controllers }): Promise<CgroupMountFacts> => {
      const own = version === 2 ? await controllersOf(mountPoint) : controllers;
      return { path: mountPoint, controllers: own, readOnly: readOnly.has(mountPoint) };
    }),
  );
  const roots = mounts
    .filter(({ controllers }) => version === 2 || controllers.length > 0)
    .map(({ path }) => join(path, cgroupRoot));
  const isThere = await Promise.all(roots.map(exists));
  const missingRoots = roots.filter((_, index) => isThere[index] === false);
  return {
    mountinfo,
    tree: mapped(text, () => ({ version, mounts, missingRoots })),
    cgroupRoot,
    cgroupsPerQOS,
    limitsPIDs: podPidsLimit > 0,
  };
}

async function controllersOf(mountPoint: string): Promise<readonly string[]> {
  const text = valueOr(await kernelText(join(mountPoint, 'cgroup.controllers')), '');
  return text.split(/\s+/u).filter((name) => name !== '');
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
