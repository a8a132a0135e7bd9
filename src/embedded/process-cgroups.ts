/** Cgroups of pods of plain processes, where the agent may make some. */
import { createHash } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { ContainerResourceFacts } from '../agent/policies/cri/linux-resources.ts';
import { removeEmptyCgroups } from '../agent/runtime/cgroups/cgroup-removal.ts';
import { CgroupTree } from '../agent/runtime/cgroups/cgroup-tree.ts';
import {
  openPodCgroups,
  type PodCgroupsSetup,
  resourceFacts,
} from '../agent/runtime/cgroups/open-pod-cgroups.ts';
import type { PodCgroups } from '../agent/runtime/cgroups/pod-cgroups.ts';
import { readMachineFacts } from '../agent/runtime/node/machine-facts.ts';
import { readSmallFile } from '../agent/runtime/stats/small-files.ts';
import type { AgentContext } from '../types/agent-context.ts';
import { errorMessage, StateletError } from '../types/errors.ts';

export interface ProcessCgroups {
  readonly cgroups: PodCgroups;
  /** The group that has `kubepods` below it. */
  readonly root: string;
  readonly facts: ContainerResourceFacts;
  /** Removes what no pod is in. */
  close(): void;
}

const NEEDED = ['cpu', 'memory'];

/**
 * Undefined where they are not wanted, or this agent may not make any: then pods run without limits. Rejects where `cgroupRoot` is given
 * and does not exist.
 */
export async function openProcessCgroups(
  context: AgentContext,
  setup: PodCgroupsSetup & { readonly rootDir: string },
): Promise<ProcessCgroups | undefined> {
  const { settings, rootDir } = setup;
  if (!settings.cgroupsPerQOS) return undefined;
  const isRoot = process.getuid?.() === 0;
  try {
    const tree = new CgroupTree('/proc/self/mountinfo', NEEDED, context.logger);
    const above = settings.cgroupRoot === '/' && !isRoot ? delegatedGroup(tree) : settings.cgroupRoot;
    return await open(context, setup, { tree, above, root: join(above, processGroup(rootDir)) });
  } catch (error) {
    if (error instanceof MissingRoot) throw error;
    const message = `Pods run without limits of CPU and memory, since no cgroups can be made for them: ${errorMessage(error)}`;
    // A user who is not root seldom has cgroups, and each pod that has limits says that they have no effect.
    if (isRoot || settings.cgroupRoot !== '/') context.logger.warn({}, message);
    else context.logger.debug({}, message);
    return undefined;
  }
}

interface Place {
  readonly tree: CgroupTree;
  readonly above: string;
  readonly root: string;
}

async function open(
  context: AgentContext,
  setup: PodCgroupsSetup,
  { tree, above, root }: Place,
): Promise<ProcessCgroups> {
  const missing = NEEDED.map((name) => tree.folder(name, above)).find((folder) => !existsSync(folder));
  if (missing !== undefined) throw new MissingRoot(above, missing);
  const removeEmpty = (): void => removeEmptyCgroups(tree.folders(root));
  tree.make(root, { recursive: false });
  try {
    const settings = { ...setup.settings, cgroupRoot: root };
    const cgroups = await openPodCgroups(tellingProblems(context), { ...setup, settings }, 'cgroupfs');
    const facts = resourceFacts(setup, tree.version, await readMachineFacts(tree.version));
    return { cgroups, root, facts, close: removeEmpty };
  } catch (error) {
    removeEmpty();
    throw error;
  }
}

/** The groups are this agent's own, not the node's: only warnings about them become events of the node. */
function tellingProblems(context: AgentContext): AgentContext {
  const { recorder } = context;
  return {
    ...context,
    recorder: {
      event: (...event) => recorder.event(...event),
      nodeEvent: (type, ...event) => {
        if (type === 'Warning') recorder.nodeEvent(type, ...event);
      },
    },
  };
}

class MissingRoot extends StateletError {
  constructor(cgroupRoot: string, folder: string) {
    super(
      'FailedPrecondition',
      `--cgroup-root (cgroupRoot) ${cgroupRoot} does not exist: make ${folder}, or leave it out`,
    );
  }
}

/** Agents with root folders of their own have groups of their own: none takes the pods of another for its orphans. */
export function processGroup(rootDir: string): string {
  return `statelet-${createHash('sha256').update(realpathSync(rootDir)).digest('hex').slice(0, 16)}`;
}

/** That of the user's own systemd: the user may make groups there, and move processes into them that have been started there. */
function delegatedGroup({ version }: CgroupTree): string {
  const own = version === 2 ? /^0::(.*)$/m.exec(readSmallFile('/proc/self/cgroup') ?? '')?.[1] : undefined;
  const group = /^.*\/user@\d+\.service(?=\/)/.exec(own ?? '')?.[0];
  if (group !== undefined) return group;
  throw new StateletError(
    'FailedPrecondition',
    'this agent is not root, and was not started by systemd of its user (systemd-run --user --scope statelet run) on cgroup v2',
  );
}
