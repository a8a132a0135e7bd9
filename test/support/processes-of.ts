import { readFileSync, readlinkSync, statSync } from 'node:fs';
import { processTable, type ProcessIdentity, startedAtMs } from '../../src/embedded/containers/proc.ts';

/** A clock that was set back a little while ago is no reason to overlook a process. */
const CLOCK_SLACK_MS = 10_000;

interface FoundProcess extends ProcessIdentity {
  readonly text: string;
}

/** Every process that uses the folder: daemons, the monitor, containers and their children. They have been started after it was made. */
export function processesOf(dir: string): readonly FoundProcess[] {
  const madeMs = statSync(dir, { throwIfNoEntry: false })?.birthtimeMs ?? 0;
  const bootedMs = startedAtMs(0);
  const isUser = ({ pid, text }: FoundProcess): boolean => {
    const uses = (hint: string) => hint.includes(`${dir}/`);
    const links = ['cwd', 'fd/1', 'fd/2'];
    return uses(text) || uses(read(pid, 'environ')) || links.some((file) => uses(link(pid, file)));
  };
  return processTable()
    .filter(({ startTicks }) => bootedMs + startTicks * 10 > madeMs - CLOCK_SLACK_MS)
    .filter(({ pid }) => pid !== process.pid)
    .map(({ pid, startTicks }) => ({ pid, startTicks, text: commandLine(pid) }))
    .filter(isUser);
}

const commandLine = (pid: number): string => read(pid, 'cmdline').replaceAll('\0', ' ').trim();

function read(pid: number, file: string): string {
  return orEmpty(() => readFileSync(`/proc/${pid}/${file}`, 'latin1'));
}

function link(pid: number, file: string): string {
  return orEmpty(() => readlinkSync(`/proc/${pid}/${file}`));
}

function orEmpty(attempt: () => string): string {
  try {
    return attempt();
  } catch {
    return '';
  }
}
