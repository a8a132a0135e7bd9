/** The cgroup of a daemon under test. */
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const CGROUPS = '/sys/fs/cgroup';

/** Creates a cgroup in every hierarchy. It takes the place of the root cgroup, which a daemon has on a real node. */
export function makeCgroup(cgroupRoot: string): void {
  const isUnified = existsSync(join(CGROUPS, 'cgroup.controllers'));
  const folders = isUnified ? [CGROUPS] : readdirSync(CGROUPS).map((name) => join(CGROUPS, name));
  // Other folders have no such file.
  const hierarchies = folders.filter((folder) => existsSync(join(folder, 'cgroup.procs')));
  for (const hierarchy of hierarchies) mkdirSync(join(hierarchy, cgroupRoot), { recursive: true });
}
