/** Finds the processes of containers whose records do not say which they are. */
import { readdirSync, readlinkSync } from 'node:fs';
import { containerIn, environOf, processTable } from '../containers/proc.ts';
import type { ProcessStat } from '../containers/proc.ts';
import type { RuntimeLayout } from '../layout.ts';

/** What runs of one container. */
export interface ContainerProcesses {
  /** In the order of their start. */
  readonly all: readonly ProcessStat[];
  /** The main process, as far as it can be told from commands that ran in the container. */
  readonly main: ProcessStat | undefined;
  /** By the path of a file in its environment. */
  readonly sandboxId: string | undefined;
}

/**
 * Every process of the machine whose environment names a container that is `wanted`, or one that has a file of this runtime and is
 * not `known`.
 */
export function findContainerProcesses(
  layout: RuntimeLayout,
  isWanted: (containerId: string) => boolean,
  isKnown: (containerId: string) => boolean,
): ReadonlyMap<string, ContainerProcesses> {
  const found = new Map<string, { stats: ProcessStat[]; sandboxId: string | undefined }>();
  for (const stat of processTable()) {
    const environ = environOf(stat.pid);
    const id = containerIn(environ);
    if (id === undefined) continue;
    const sandboxId = sandboxIn(environ, layout);
    if (!isWanted(id) && (isKnown(id) || sandboxId === undefined)) continue;
    const processes = found.get(id) ?? { stats: [], sandboxId };
    processes.stats.push(stat);
    found.set(id, processes);
  }
  return new Map(
    [...found].map(([id, { stats, sandboxId }]) => [id, { ...sorted(stats, layout, id), sandboxId }]),
  );
}

/** The pod's scratch folder is named in HOME, or as the place of the termination message. */
function sandboxIn(environ = '', { scratchDir }: RuntimeLayout): string | undefined {
  const start = environ.indexOf(`=${scratchDir}/`);
  if (start < 0) return undefined;
  const id = environ.slice(start + scratchDir.length + 2).split(/[/\0]/, 1)[0];
  return id;
}

/**
 * A container's main process leads a session, like every command in the container. It has started first, and has the container's
 * pipes unless it has closed them.
 */
function sorted(
  stats: readonly ProcessStat[],
  layout: RuntimeLayout,
  id: string,
): Omit<ContainerProcesses, 'sandboxId'> {
  const all = stats.toSorted((a, b) => a.startTicks - b.startTicks);
  const leaders = all.filter(({ pid, sessionId }) => pid === sessionId);
  const pipes = layout.containerDir(id);
  const main = leaders.find(({ pid }) => hasFileBelow(pid, pipes)) ?? leaders[0];
  return { all, main };
}

function hasFileBelow(pid: number, folder: string): boolean {
  try {
    const descriptors = `/proc/${pid}/fd`;
    return readdirSync(descriptors).some((fd) =>
      readlinkSync(`${descriptors}/${fd}`).startsWith(`${folder}/`),
    );
  } catch {
    return false;
  }
}
