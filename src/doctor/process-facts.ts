/** Which processes run here, as far as this user may see them. */
import { readdir, readFile, readlink } from 'node:fs/promises';
import { resolve } from 'node:path';
import {
  type AgentFacts,
  isKubelet,
  isStatelet,
  rootDirOf,
  type RunningAgent,
} from './policies/agent-findings.ts';
import type { LimitFacts } from './policies/machine-findings.ts';
import type { Holder } from './policies/port-findings.ts';
import { lookAtRootLock } from '../agent/runtime/node/root-files.ts';
import { promiseOf } from '../system/promises.ts';
import { kernelText, mapped, reading } from './reading.ts';

/** Command lines can be as long as their process wants. */
const WORDS_MAX = 200;
const WORD_LENGTH_MAX = 500;

/** The process itself is left out, and so are those of the kernel, which have no command line. */
export async function runningProcesses(): Promise<readonly RunningAgent[]> {
  const found: RunningAgent[] = [];
  for (const pid of await processIds()) {
    const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (text === '' || pid === process.pid) continue;
    const words = text.split('\0', WORDS_MAX).map((word) => word.slice(0, WORD_LENGTH_MAX));
    found.push({ pid, command: words.filter((word) => word !== '') });
  }
  return found;
}

export async function agentFacts(
  rootDir: string,
  endpoint: string,
  processes: readonly RunningAgent[],
): Promise<AgentFacts> {
  const lock = await reading(promiseOf(() => lookAtRootLock(rootDir)));
  const own = 'value' in lock ? lock.value.holder : undefined;
  const isOther = (agent: RunningAgent) => {
    const dir = rootDirOf(agent);
    return agent.pid !== own && (dir === undefined || resolve(dir) !== rootDir);
  };
  return {
    kubelets: processes.filter(isKubelet),
    others: processes.filter((agent) => isStatelet(agent) && isOther(agent)),
    lock,
    rootDir,
    endpoint,
  };
}

/** Who has these sockets open, by their inodes. Of processes of other users only root sees it. */
export async function holdersOf(
  inodes: ReadonlySet<string>,
  processes: readonly RunningAgent[],
): Promise<ReadonlyMap<string, Holder>> {
  const holders = new Map<string, Holder>();
  for (const { pid, command } of inodes.size === 0 ? [] : processes) {
    for (const fd of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const target = await readlink(`/proc/${pid}/fd/${fd}`).catch(() => '');
      const inode = /^socket:\[(\d+)\]$/u.exec(target)?.[1];
      if (inode !== undefined && inodes.has(inode))
        holders.set(inode, { pid, command: command.slice(0, 3).join(' ') });
    }
    if (holders.size === inodes.size) break;
  }
  return holders;
}

async function processIds(): Promise<readonly number[]> {
  return (await readdir('/proc')).filter((name) => /^\d+$/u.test(name)).map(Number);
}

const INOTIFY = '/proc/sys/fs/inotify';

/** Node has set the soft limit of open files to the hard one. */
export async function limitFacts(maxPods: number): Promise<LimitFacts> {
  const [limits, instances, watches] = await Promise.all(
    ['/proc/self/limits', `${INOTIFY}/max_user_instances`, `${INOTIFY}/max_user_watches`].map(kernelText),
  );
  const missing = { problem: 'does not exist', isForbidden: false };
  return {
    openFiles: mapped(limits ?? missing, openFilesIn),
    inotifyInstances: mapped(instances ?? missing, Number),
    inotifyWatches: mapped(watches ?? missing, Number),
    maxPods,
  };
}

function openFilesIn(text: string): number {
  const soft = /^Max open files\s+(\S+)/mu.exec(text)?.[1];
  return soft === undefined || soft === 'unlimited' ? Infinity : Number(soft);
}
