/** The cgroup of a daemon under test. */
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const CGROUPS = '/sys/fs/cgroup';

/** Creates a cgroup in every hierarchy. It takes the place of the root cgroup, which a daemon has on a real node. */
export function makeCgroup(cgroupRoot: string): void {
  const controllers = readdirSync(CGROUPS).filter((name) => statSync(join(CGROUPS, name)).isDirectory());
  const isUnified = existsSync(join(CGROUPS, 'cgroup.controllers'));
  const hierarchies = isUnified ? [CGROUPS] : controllers.map((name) => join(CGROUPS, name));
  for (const hierarchy of hierarchies) mkdirSync(join(hierarchy, cgroupRoot), { recursive: true });
}
