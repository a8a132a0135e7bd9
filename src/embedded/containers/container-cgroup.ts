/** The cgroups of containers. The agent makes the group of a pod, the monitor that of each container below it. */
// oxlint-disable-next-line no-restricted-imports -- writes files of the kernel
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { containerCgroupValues } from '../../agent/policies/cgroups/container-values.ts';
import { removeCgroups } from '../../agent/runtime/cgroups/cgroup-removal.ts';
import { CgroupTree } from '../../agent/runtime/cgroups/cgroup-tree.ts';
import { delegateControllers } from '../../agent/runtime/cgroups/delegation.ts';
import { readSmallFile, valueOf } from '../../agent/runtime/stats/small-files.ts';
import type { LinuxContainerResources } from '../../types/cri.ts';
import { errorMessage } from '../../types/errors.ts';
import type { ContainerRecord, SandboxRecord } from '../monitor/records.ts';

/** Of one monitor. The tree of cgroups is looked for with the first container that has a group. */
export class ContainerCgroups {
  readonly #log: (message: string) => void;
  #tree: CgroupTree | undefined;

  constructor(log: (message: string) => void) {
    this.#log = log;
  }

  /** Undefined for a container whose pod has no cgroup. */
  of({ config: sandbox }: SandboxRecord, { id, config }: ContainerRecord): ContainerCgroup | undefined {
    const parent = sandbox.linux?.cgroupParent;
    if (!parent) return undefined;
    return new ContainerCgroup(() => this.#open(), join('/', parent), id, config.linux?.resources);
  }

  #open(): CgroupTree {
    const warn = (_fields: object, message: string): void => this.#log(message);
    return (this.#tree ??= new CgroupTree('/proc/self/mountinfo', [], { warn }));
  }
}

export class ContainerCgroup {
  readonly #open: () => CgroupTree;
  readonly #pod: string;
  readonly #group: string;
  readonly #resources: LinuxContainerResources | undefined;

  constructor(
    open: () => CgroupTree,
    pod: string,
    id: string,
    resources: LinuxContainerResources | undefined,
  ) {
    this.#open = open;
    this.#pod = pod;
    this.#group = join(pod, id);
    this.#resources = resources;
  }

  /** Makes the group with its limits. Throws where the pod has no group any more, or a limit cannot be set. */
  make(): void {
    const tree = this.#open();
    if (tree.version === 2) delegateControllers(tree, this.#pod, []);
    tree.make(this.#group, { recursive: false });
    if (!this.#resources) return;
    const values = containerCgroupValues(tree.version, this.#resources);
    // A machine may have huge pages, and no controller for them.
    tree.write(
      this.#group,
      values.filter((value) => value.controller !== 'hugetlb' || tree.offers(this.#group, value)),
    );
  }

  /** Moves the process into the group. */
  join(pid: number): void {
    const tree = this.#open();
    for (const { mountPoint, controllers } of tree.hierarchies) {
      if (controllers.length > 0) writeFileSync(join(mountPoint, this.#group, 'cgroup.procs'), String(pid));
    }
    const score = this.#resources?.oomScoreAdj;
    if (score !== undefined) setScore(pid, score);
  }

  /** Whether the kernel has killed a process of it for want of memory. False where the group is gone. */
  hadOOMKill(): boolean {
    try {
      const tree = this.#open();
      const file = tree.version === 1 ? 'memory.oom_control' : 'memory.events';
      const text = readSmallFile(join(tree.folder('memory', this.#group), file)) ?? '';
      return (valueOf(text, 'oom_kill') ?? 0) > 0;
    } catch {
      // The machine has no such cgroups any more.
      return false;
    }
  }

  /** Kills what is left in the group, and removes it. Resolves to what went wrong, if something did. */
  async remove(): Promise<string | undefined> {
    try {
      await removeCgroups(this.#open().folders(this.#group));
      return undefined;
    } catch (error) {
      return errorMessage(error);
    }
  }
}

/** Where it may not be lowered the process keeps the score of the agent. */
function setScore(pid: number, score: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, String(score));
  } catch {
    // Only with CAP_SYS_RESOURCE may it be lower than that of the parent.
  }
}
