/** Limits of the machine that a node with many pods runs into. */
import { type Finding, findingsOf, type Reading } from './finding.ts';

export interface LimitFacts {
  /** Infinity: no limit. */
  readonly openFiles: Reading<number>;
  readonly inotifyInstances: Reading<number>;
  readonly inotifyWatches: Reading<number>;
  readonly maxPods: number;
}

/** Sockets of clients, logs and watches of one pod, on the safe side. */
const FILES_PER_POD = 50;
const FILES_BESIDE = 1024;
/** The kernel's default of old, with which nodes of many pods have run out. */
const LEAST_INSTANCES = 128;
const LEAST_WATCHES = 8192;

export function limitFindings(facts: LimitFacts): readonly Finding[] {
  return [openFilesFinding(facts), ...inotifyFindings(facts)];
}

function openFilesFinding({ openFiles, maxPods }: LimitFacts): Finding {
  const { ok, warning, unread } = findingsOf('open-files');
  if ('problem' in openFiles) return unread('/proc/self/limits', openFiles, 'mount /proc');
  const wanted = FILES_BESIDE + FILES_PER_POD * maxPods;
  const shown = openFiles.value === Infinity ? 'no limit' : String(openFiles.value);
  if (openFiles.value >= wanted) return ok(shown);
  return warning(
    `${shown} open files for a process started here; ${maxPods} pods may need ${wanted}`,
    'LimitNOFILE=1048576 in the unit of systemd (examples/systemd has it), or ulimit -n 1048576',
  );
}

function inotifyFindings({ inotifyInstances, inotifyWatches }: LimitFacts): readonly Finding[] {
  const { ok, warning, unread } = findingsOf('inotify');
  const limits = [
    { name: 'fs.inotify.max_user_instances', reading: inotifyInstances, least: LEAST_INSTANCES },
    { name: 'fs.inotify.max_user_watches', reading: inotifyWatches, least: LEAST_WATCHES },
  ];
  const problems = limits.flatMap(({ name, reading, least }) => {
    if ('problem' in reading) return [unread(name, reading, 'mount /proc')];
    if (reading.value >= least) return [];
    const line = `${name}=${least * 8}`;
    const mend = `sysctl -w ${line}, and echo ${line} > /etc/sysctl.d/90-statelet.conf so that it stays`;
    return [warning(`${name} is ${reading.value}: watches of files will fail`, mend)];
  });
  const shown = limits.map(({ name, reading }) => `${name} ${'value' in reading ? reading.value : ''}`);
  return problems.length > 0 ? problems : [ok(shown.join(', '))];
}
