import { errorMessage } from '../../types/errors.ts';
import { errnoCode } from '../../system/system-errors.ts';
import { containerIn, environOf, type ProcessStat, processTable } from './proc.ts';

const MAX_PAUSE_MS = 250;
/** How often a process is looked at again that shows no environment yet. With their pauses these rounds take at least 126 ms. */
const LOADING_ROUNDS = 6;

/** Of the threads of the kernel, which have no environment. */
const KERNEL_GROUP = 0;

/** Identifies the processes that may be left of a container or command. */
export interface Remains {
  /** Session and process group of the main process. Only while no later process can have got the same number. */
  readonly sessionId?: number;
  /** Also finds processes that left the session, by the container's id in their environment. */
  readonly containerId?: string;
  /** A process that started earlier does not belong to it. */
  readonly sinceTicks: number;
}

interface Task {
  readonly remains: Remains;
  readonly done: () => void;
  /** Processes that cannot be killed because they have changed to another user. */
  readonly immune: Set<number>;
  round: number;
  loadingRounds: number;
}

/** How the sweeper reads /proc. */
export interface ProcReader {
  readonly processTable: () => ProcessStat[];
  readonly environOf: (pid: number) => string | undefined;
}

/**
 * Kills the processes that a container leaves behind, as the end of a PID namespace would. The end of a process that
 * is not our child causes no event: /proc is read in rounds. Tasks of the same moment share one reading.
 */
export class Sweeper {
  #tasks: Task[] = [];
  readonly #log: (message: string) => void;
  readonly #proc: ProcReader;

  constructor(log: (message: string) => void, proc: ProcReader = { processTable, environOf }) {
    this.#log = log;
    this.#proc = proc;
  }

  /** Resolves when no such process runs. */
  clear(remains: Remains): Promise<void> {
    return new Promise((done) => this.#add({ remains, done, immune: new Set(), round: 0, loadingRounds: 0 }));
  }

  #add(task: Task): void {
    if (this.#tasks.push(task) === 1) setImmediate(() => this.#round());
  }

  #round(): void {
    let table: ProcessStat[];
    try {
      table = this.#proc.processTable();
    } catch (error) {
      this.#log(`/proc cannot be read: ${errorMessage(error)}`);
      setTimeout(() => this.#round(), MAX_PAUSE_MS);
      return;
    }
    for (const task of this.#tasks.splice(0)) {
      const left: ProcessStat[] = [];
      let isLoading = false;
      for (const stat of table) {
        const found = task.immune.has(stat.pid) ? 'no' : this.#belongs(stat, task.remains);
        if (found === 'yes') left.push(stat);
        isLoading ||= found === 'unknown';
      }
      if (left.length > 0) this.#kill(task, left);
      else if (isLoading && task.loadingRounds++ < LOADING_ROUNDS) this.#again(task);
      else task.done();
    }
  }

  #again(task: Task): void {
    task.round += 1;
    setTimeout(() => this.#add(task), Math.min(MAX_PAUSE_MS, 2 ** task.round));
  }

  /** Unknown while the process loads its program: until then the kernel shows no environment. */
  #belongs(stat: ProcessStat, { sessionId, containerId, sinceTicks }: Remains): 'yes' | 'no' | 'unknown' {
    if (stat.startTicks < sinceTicks) return 'no';
    if (sessionId !== undefined && (stat.sessionId === sessionId || stat.groupId === sessionId)) return 'yes';
    if (containerId === undefined) return 'no';
    const environ = this.#proc.environOf(stat.pid);
    if (environ === '') return stat.groupId === KERNEL_GROUP ? 'no' : 'unknown';
    return containerIn(environ) === containerId ? 'yes' : 'no';
  }

  #kill(task: Task, left: readonly ProcessStat[]): void {
    const { sessionId } = task.remains;
    // The whole group at once: a process that forks quickly could escape if they were killed one by one.
    if (sessionId !== undefined && left.some((stat) => stat.groupId === sessionId)) kill(-sessionId);
    for (const { pid } of left) {
      if (kill(pid) !== 'EPERM') continue;
      task.immune.add(pid);
      this.#log(`may not kill process ${pid}, left behind by ${task.remains.containerId ?? 'a command'}`);
    }
    this.#again(task);
  }
}

/** Sends SIGKILL; returns the system's error code where that failed. */
function kill(pid: number): string | undefined {
  try {
    process.kill(pid, 'SIGKILL');
    return undefined;
  } catch (error) {
    return errnoCode(error);
  }
}
