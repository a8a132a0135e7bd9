/** A cgroup of this machine in the place of a pod's: real groups, which need root. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { pidsIn, removeCgroups } from '../../src/agent/runtime/cgroups/cgroup-removal.ts';
import { CgroupTree } from '../../src/agent/runtime/cgroups/cgroup-tree.ts';
import { delegateControllers } from '../../src/agent/runtime/cgroups/delegation.ts';
import type { CgroupValue } from '../../src/agent/policies/cgroups/cgroup-values.ts';
import { silentLogger } from './silent-logger.ts';

export class PodGroup {
  readonly tree = new CgroupTree('/proc/self/mountinfo', ['cpu', 'memory', 'pids'], silentLogger);
  readonly path = `/statelet-pod-${randomUUID()}`;

  constructor() {
    delegateControllers(this.tree, '/', []);
    this.tree.make(this.path, { recursive: false });
  }

  write(values: readonly CgroupValue[]): void {
    this.tree.write(this.path, values);
  }

  /** Of the group of a container. */
  read(id: string, controller: string, file: string): string {
    return readFileSync(join(this.tree.folder(controller, join(this.path, id)), file), 'utf8').trim();
  }

  /** In the hierarchy of memory. */
  pids(id = ''): readonly number[] {
    return pidsIn(this.tree.folder('memory', join(this.path, id)));
  }

  has(id: string): boolean {
    return this.tree.folders(join(this.path, id)).some((folder) => existsSync(folder));
  }

  remove(): Promise<void> {
    return removeCgroups(this.tree.folders(this.path));
  }
}
