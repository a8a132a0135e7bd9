import type { LimitFacts } from '../policies/doctor/limit-findings.ts';
import { kernelText, mapped } from './reading.ts';

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
