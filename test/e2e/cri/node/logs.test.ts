import { execFileSync } from 'node:child_process';
import {
  closeSync,
  openSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { type CriDaemonBed, type CriDaemonOptions, SERVING } from '../../../support/cri-daemon.ts';
import { describeOnContainerd } from '../../../support/cri-suite.ts';
import { containerStatus, type Daemon, NODE_NAME } from '../../../support/daemon.ts';
import { unlessMoved } from '../../../support/unless-moved.ts';
import { waitFor } from '../../../support/wait-for.ts';

/** Short, for containers that ignore SIGTERM. */
const QUICK = { terminationGracePeriodSeconds: 1 };
/** Short, for quick restarts. */
const SHORT_BACK_OFF = { crashLoopBackOff: { maxContainerRestartPeriod: '1s' } };

describeOnContainerd('logs of containers', ({ containerd, openBed }) => {
  let bed: CriDaemonBed;
  let daemon: Daemon;

  async function startDaemon(config: CriDaemonOptions['config'] = {}): Promise<void> {
    bed = openBed({ config });
    daemon = await bed.start();
  }

  const logsOf = (pod: Pod, container = 'main') => join(bed.podLogs(pod.metadata), container);
  const filesOf = (pod: Pod, container = 'main') => readdirSync(logsOf(pod, container)).toSorted();
  const links = () =>
    readdirSync(bed.containerLogsDir).map((name) => [name, readlinkSync(join(bed.containerLogsDir, name))]);
  const linkOf = (pod: Pod, container = 'main') =>
    `${pod.metadata.name}_default_${container}-${bed.idOf(pod, container)}.log`;

  test("are at the paths of the kubelet, in CRI's format, and have links to them", async () => {
    await startDaemon();
    // CRI splits lines of more than 16 KiB into parts.
    const long = 'x'.repeat(20_000);
    const script = `echo said; echo complained >&2; printf unfinished; echo ${long} >&2; ${SERVING}`;
    bed.apply('talker', {
      containers: [
        bed.shell(script),
        bed.shell(`echo on a terminal; ${SERVING}`, { name: 'tty', tty: true }),
      ],
    });
    const pod = await daemon.running('talker');
    const { name, uid } = pod.metadata;
    const log = join(bed.podLogsDir, `default_${name}_${uid}`, 'main', '0.log');
    await waitFor(() => saidIn([log], 'stderr').length > 1, { what: 'all that was said' });
    expect(saidIn([log], 'stdout')).toEqual(['said']);
    expect(saidIn([log], 'stderr')).toEqual(['complained', long]);
    const terminal = join(dirname(dirname(log)), 'tty', '0.log');
    await waitFor(() => saidIn([terminal]).length > 0, { what: 'the line from the terminal' });
    expect(saidIn([terminal])).toEqual(['on a terminal']);
    expect(links().toSorted()).toEqual(
      [
        [linkOf(pod), log],
        [linkOf(pod, 'tty'), terminal],
      ].toSorted(),
    );
    bed.withdraw('talker');
    await daemon.onlyPods();
    expect([readdirSync(bed.podLogsDir), links()]).toEqual([[], []]);
  });

  test('are separate for each instance; of dead instances only the last log is kept, with its link', async () => {
    await startDaemon(SHORT_BACK_OFF);
    const script = `n=$(ls /runs | wc -l); : > /runs/$n; echo run $n; [ $n = 3 ] || exit 1; ${SERVING}`;
    bed.apply('again', {
      volumes: [{ name: 'runs', emptyDir: {} }],
      containers: [bed.shell(script, { volumeMounts: [{ name: 'runs', mountPath: '/runs' }] })],
    });
    const runsAtLast = (pod: Pod) => {
      const { restartCount, state } = containerStatus(pod) ?? {};
      return restartCount === 3 && state?.running !== undefined;
    };
    const pod = await daemon.until('again', 'running for the fourth time', runsAtLast);
    expect(filesOf(pod)).toEqual(['2.log', '3.log']);
    const [last, latest] = ['2.log', '3.log'].map((file) => join(logsOf(pod), file));
    await waitFor(() => saidIn([latest ?? '']).length > 0, { what: 'what the latest says' });
    expect(saidIn([last ?? '', latest ?? ''])).toEqual(['run 2', 'run 3']);
    const targets = links().map(([, target]) => target);
    expect(targets.toSorted()).toEqual(['2.log', '3.log'].map((file) => join(logsOf(pod), file)));
  });

  test('are rotated while they are written, and no line is lost or repeated', async () => {
    const maxFiles = 4;
    const maxSizeBytes = 40_000;
    const sizes = { containerLogMaxSize: String(maxSizeBytes), containerLogMaxFiles: maxFiles };
    await startDaemon({ ...sizes, containerLogMonitorInterval: '1s' });
    // Counts until the log was rotated two or three times: no file is removed yet.
    const batch = 'for k in 1 2 3 4 5 6 7 8 9 10; do echo line $i; i=$((i+1)); done';
    const counts = `i=0; until [ $(ls /logs/*_counter-*/main | wc -l) -gt 2 ]; do ${batch}; done; echo end; ${SERVING}`;
    const logs = {
      volumes: [{ name: 'logs', hostPath: { path: bed.podLogsDir } }],
    };
    const volumeMounts = [{ name: 'logs', mountPath: '/logs', readOnly: true }];
    bed.apply('counter', { ...logs, containers: [bed.shell(counts, { volumeMounts })] });
    bed.apply('endless', { containers: [bed.shell('while :; do seq 1000; sleep 0.1; done')], ...QUICK });
    const [counter, endless] = [await daemon.running('counter'), await daemon.running('endless')];

    const log = join(logsOf(counter), '0.log');
    const inOrder = () => [...filesOf(counter).filter((name) => name !== '0.log'), '0.log'];
    const paths = () => inOrder().map((name) => join(logsOf(counter), name));
    const hasEnded = () => unlessMoved(() => readFileSync(log, 'utf8').trimEnd().endsWith(' end'));
    await waitFor(hasEnded, { what: 'the end of the count' });
    const isSettled = () => {
      const plain = inOrder().filter((name) => !name.endsWith('.gz'));
      const isSmall = (statSync(log, { throwIfNoEntry: false })?.size ?? Infinity) < maxSizeBytes;
      return isSmall && plain.length === 2 && inOrder().length > 2;
    };
    await waitFor(isSettled, { what: 'the last rotation' });
    const said = saidIn(paths());
    const expected = said.map((_, index) => (index === said.length - 1 ? 'end' : `line ${index}`));
    expect(said).toEqual(expected);
    expect(said.length).toBeGreaterThan(1000);

    const seen = new Set<string>();
    await waitFor(
      () => {
        const names = new Set(filesOf(endless).map((name) => name.replace(/\.gz(\.tmp)?$|\.tmp$/, '')));
        if (names.size > maxFiles) throw new Error(`too many logs: ${[...names].join()}`);
        for (const name of names) seen.add(name);
        return seen.size > maxFiles + 1;
      },
      { what: 'older logs to be followed by newer ones' },
    );
    expect(readlinkSync(join(bed.containerLogsDir, linkOf(endless)))).toBe(join(logsOf(endless), '0.log'));
    bed.withdraw('counter');
    bed.withdraw('endless');
    await daemon.onlyPods();
    expect([readdirSync(bed.podLogsDir), links()]).toEqual([[], []]);
  });

  test('without a folder delay their pod with an event, and it runs when the folder can be created', async () => {
    bed = openBed();
    const uid = 'uid-of-blocked';
    const folder = join(bed.podLogsDir, `default_blocked-${NODE_NAME}_${uid}`);
    mkdirSync(bed.podLogsDir, { recursive: true });
    writeFileSync(folder, 'in the way');
    const apply = (round: string) =>
      bed.apply('blocked', { containers: [bed.server()] }, { uid, annotations: { round } });
    apply('first');
    daemon = await bed.start();
    const { msg } = await daemon.event('blocked', 'FailedCreatePodSandBox');
    expect(msg).toContain(folder);
    const pod = await daemon.inPhase('blocked', 'Pending');
    expect(containerStatus(pod)?.state?.waiting?.reason).toBe('ContainerCreating');
    rmSync(folder);
    // A change of the pod starts the next attempt at once; otherwise it would start after 10 s.
    apply('second');
    expect(filesOf(await daemon.running('blocked'))).toEqual(['0.log']);
  });

  test('on a full disk: containers keep running, new ones report the lack of space, and start when there is space', async () => {
    // A file system whose limit of files can be changed.
    const disk = join(containerd.dir, 'logs');
    mkdirSync(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', disk]);
    const podLogsDir = join(disk, 'pods');
    const logOf = ({ metadata: { namespace, name, uid } }: Pod) =>
      join(podLogsDir, `${namespace}_${name}_${uid}`, 'main', '0.log');
    const filler = join(disk, 'filler');
    await startDaemon({ ...SHORT_BACK_OFF, podLogsDir });
    bed.apply('talker', { containers: [bed.server()] });
    const talker = await daemon.running('talker');
    // More than a page of the log, and only when it is told to: what it says must not fill the disk by itself.
    const talk = () => bed.exec(talker, ['sh', '-c', 'seq 100 > /proc/1/fd/1']);
    await talk();
    await waitFor(() => saidIn([logOf(talker)]).length === 100, { what: 'the first lines' });
    fill(disk, filler);
    await talk();

    const apply = (round: string) =>
      bed.apply('late', { containers: [bed.server()] }, { uid: 'uid-of-late', annotations: { round } });
    apply('first');
    const { msg } = await daemon.event('late', 'FailedCreatePodSandBox');
    expect(msg).toMatch(/ENOSPC|no space left/);
    await daemon.inPhase('late', 'Pending');
    const still = await daemon.running('talker');
    expect([bed.idOf(still), containerStatus(still)?.restartCount]).toEqual([bed.idOf(talker), 0]);

    rmSync(filler);
    execFileSync('mount', ['-o', 'remount,nr_inodes=1000', disk]);
    const { length } = readFileSync(logOf(talker));
    await talk();
    await waitFor(() => readFileSync(logOf(talker)).length > length, { what: 'more lines' });
    apply('second');
    await daemon.running('late');
    bed.withdraw('talker');
    bed.withdraw('late');
    await daemon.onlyPods();
    expect(readdirSync(podLogsDir)).toEqual([]);
  });
});

/** Uses all remaining space and inodes. */
function fill(disk: string, filler: string): void {
  const fd = openSync(filler, 'w');
  try {
    for (;;) writeSync(fd, Buffer.alloc(4096));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(fd);
  }
  const { files, ffree } = statfsSync(disk);
  execFileSync('mount', ['-o', `remount,nr_inodes=${files - ffree}`, disk]);
}

interface Entry {
  readonly stream: string;
  readonly partial: boolean;
  readonly text: string;
}

/** The entries of log files, in their order; throws if an entry is not in CRI's format. */
function entriesIn(files: readonly string[]): Entry[] {
  return files.flatMap((file) => {
    const content = readFileSync(file);
    const text = (file.endsWith('.gz') ? gunzipSync(content) : content).toString();
    return text.split('\n').slice(0, -1).map(parse);
  });
}

function parse(line: string): Entry {
  const [, stream, tag, text] =
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+\S+ (stdout|stderr) ([FP]) (.*)$/s.exec(line) ?? [];
  if (stream === undefined || text === undefined) throw new Error(`not in CRI's format: ${line}`);
  return { stream, partial: tag === 'P', text };
}

/** The complete lines; parts of one line are joined. */
function saidIn(files: readonly string[], stream = 'stdout'): string[] {
  const lines: string[] = [];
  let begun = '';
  for (const entry of entriesIn(files)) {
    if (entry.stream !== stream) continue;
    begun += entry.text;
    if (entry.partial) continue;
    lines.push(begun);
    begun = '';
  }
  return lines;
}
