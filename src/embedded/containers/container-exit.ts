/** How the end of a container's main process is recorded. */
import { nowNs } from '../../agent/runtime/logs/start-clock.ts';
import type { Exit } from '../monitor/records.ts';
import type { ContainerCgroup } from './container-cgroup.ts';
import { exitCodeOf } from './launch.ts';
import type { Ending } from './main-process.ts';
import type { OomKills } from './oom-kills.ts';
import { SIGKILL_EXIT_CODE } from '../../types/cri.ts';

const UNKNOWN_EXIT = {
  exitCode: 255,
  reason: 'Unknown',
  message:
    'the exit code is not known: the monitor that had started this container died before the container ended',
};
const OOM_KILLED = 'OOMKilled';

export interface EndOfMain {
  readonly ending: Ending;
  /** Whether the monitor has killed it. */
  readonly isKilled: boolean;
  readonly cgroup: Pick<ContainerCgroup, 'hadOOMKill'> | undefined;
  /** Of the machine, for a container without a cgroup. */
  readonly oomKills: Pick<OomKills, 'grew'>;
}

export function exitAfter({ ending, isKilled, cgroup, oomKills }: EndOfMain): Exit {
  const finishedAt = Number(nowNs());
  if (!ending) {
    // Its group has counted, even without a monitor.
    if (!cgroup?.hadOOMKill()) return { ...UNKNOWN_EXIT, finishedAt };
    return { exitCode: SIGKILL_EXIT_CODE, reason: OOM_KILLED, message: '', finishedAt };
  }
  const exitCode = exitCodeOf(ending.code, ending.signal);
  // Also a shell whose child was killed ends with this code.
  const killedByOther = exitCode === SIGKILL_EXIT_CODE && !isKilled;
  const lacksMemory = () => (cgroup ? cgroup.hadOOMKill() : oomKills.grew());
  const failure = killedByOther && lacksMemory() ? OOM_KILLED : 'Error';
  return { exitCode, reason: exitCode === 0 ? 'Completed' : failure, message: '', finishedAt };
}
