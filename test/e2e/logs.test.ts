/** Logs of plain processes: the monitor writes and rotates them, the daemon requests the rotation and removes them. */
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Pod } from '../../src/types/kubernetes.ts';
import { containerStatus, type Daemon, DaemonBed } from '../support/daemon.ts';
import { unlessMoved } from '../support/unless-moved.ts';
import { waitFor } from '../support/wait-for.ts';
import { manifest, SERVE, shell } from './manifests.ts';

const MAX_FILES = 4;
const asRoot = process.getuid?.() === 0 ? test : test.skip;

let bed: DaemonBed;
let daemon: Daemon;

beforeEach(() => {
  bed = new DaemonBed();
});
afterEach(() => bed.cleanUp());

async function start(configuration: object): Promise<void> {
  const file = join(bed.dir, 'config.json');
  const head = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
  writeFileSync(file, JSON.stringify({ ...head, ...configuration }));
  daemon = await bed.start('--config', file);
}

const rotating = (maxSizeBytes: number) => ({
  containerLogMaxSize: String(maxSizeBytes),
  containerLogMaxFiles: MAX_FILES,
  containerLogMonitorInterval: '1s',
});

const apply = (name: string, fields: Parameters<typeof manifest>[1]) =>
  writeFileSync(join(bed.manifestDir, `${name}.json`), manifest(name, fields));
const withdraw = (name: string) => rmSync(join(bed.manifestDir, `${name}.json`));
const logsOf = (pod: Pod) => join(bed.podLogs(pod.metadata), 'main');
const filesOf = (pod: Pod) => readdirSync(logsOf(pod)).toSorted();
/** The log files, oldest first. While a file is compressed, it counts once, and its temporary file not at all. */
const pathsOf = (pod: Pod) => {
  const files = filesOf(pod);
  const rotated = files.filter(
    (name) => /^0\.log\.[\d-]+(\.gz)?$/.test(name) && !files.includes(`${name}.gz`),
  );
  return [...rotated, '0.log'].map((name) => join(logsOf(pod), name));
};

/** The lines of stdout. Throws if a line is not whole. */
function saidIn(paths: readonly string[]): string[] {
  return paths.flatMap((path) => {
    const content = readFileSync(path);
    const text = (path.endsWith('.gz') ? gunzipSync(content) : content).toString();
    return text.split('\n').slice(0, -1).map(textOf);
  });
}

function textOf(line: string): string {
  const [, text] = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z stdout F (.*)$/.exec(line) ?? [];
  if (text === undefined) throw new Error(`not a whole line: ${line}`);
  return text;
}

test('are rotated at the configured size while they are written; no line is lost or torn', async () => {
  const maxSizeBytes = 40_000;
  await start(rotating(maxSizeBytes));
  // Counts until the log was rotated two or three times: no file is removed yet.
  // seq writes blocks, which end within lines.
  const batch = `seq -f 'line %.0f' $i $((i+999)); i=$((i+1000)); sleep 0.1`;
  const rotated = `$(ls ${bed.rootDir}/pods/*_counter-*/main | wc -l) -gt 2`;
  apply('counter', {
    containers: [shell(`i=0; until [ ${rotated} ]; do ${batch}; done; echo end; ${SERVE}`)],
  });
  const pod = await daemon.running('counter');
  const log = join(logsOf(pod), '0.log');
  const hasEnded = () => unlessMoved(() => readFileSync(log, 'utf8').trimEnd().endsWith(' end'));
  await waitFor(hasEnded, { what: 'the end of the count' });
  const isSettled = () => {
    const plain = filesOf(pod).filter((name) => !name.endsWith('.gz'));
    const isSmall = (statSync(log, { throwIfNoEntry: false })?.size ?? Infinity) < maxSizeBytes;
    return isSmall && plain.length === 2;
  };
  await waitFor(isSettled, { what: 'the last rotation' });
  const said = saidIn(pathsOf(pod));
  expect(said).toEqual(said.map((_, index) => (index === said.length - 1 ? 'end' : `line ${index}`)));
  expect(said.length).toBeGreaterThan(1000);
});

test('of a container that writes permanently stay bounded: old files are removed, and all files with the pod', async () => {
  await start(rotating(40_000));
  apply('endless', {
    terminationGracePeriodSeconds: 1,
    containers: [shell('while :; do seq 1000; sleep 0.05; done')],
  });
  const pod = await daemon.running('endless');
  const seen = new Set<string>();
  const areReplaced = () => {
    const names = new Set(filesOf(pod).map((name) => name.replace(/\.gz(\.tmp)?$|\.tmp$/, '')));
    if (names.size > MAX_FILES) throw new Error(`too many logs: ${[...names].join()}`);
    for (const name of names) seen.add(name);
    return seen.size > MAX_FILES + 1;
  };
  await waitFor(areReplaced, { what: 'older logs to be followed by newer ones' });
  withdraw('endless');
  await daemon.onlyPods();
  expect(readdirSync(join(bed.rootDir, 'pods'))).toEqual([]);
});

test('of a crash loop are kept for the running instance and the one before', async () => {
  await start({ crashLoopBackOff: { maxContainerRestartPeriod: '1s' } });
  const script = `n=$(ls runs | wc -l); : > runs/$n; echo run $n; [ $n = 3 ] || exit 1; ${SERVE}`;
  apply('again', { containers: [shell(`mkdir -p runs; ${script}`)] });
  const runsAtLast = (pod: Pod) => {
    const { restartCount, state } = containerStatus(pod) ?? {};
    return restartCount === 3 && state?.running !== undefined;
  };
  const pod = await daemon.until('again', 'running for the fourth time', runsAtLast);
  await waitFor(() => filesOf(pod).join() === '2.log,3.log', { what: 'older logs to be removed' });
  const paths = filesOf(pod).map((name) => join(logsOf(pod), name));
  await waitFor(() => saidIn(paths).length === 2, { what: 'the words of both' });
  expect(saidIn(paths)).toEqual(['run 2', 'run 3']);
  const records = join(bed.rootDir, 'runtime/containers');
  await waitFor(() => readdirSync(records).length === 2, { what: 'older records to be removed' });
});

test('of pods that no longer exist are removed when the agent starts; other folders with similar names stay', async () => {
  const dir = join(bed.rootDir, 'pods');
  const write = (path: string, content: string) => {
    mkdirSync(join(dir, path, '..'), { recursive: true });
    writeFileSync(join(dir, path), content);
  };
  write('default_gone_uid-of-gone/main/0.log', '2026-01-01T00:00:00.123456789Z stdout F said\n');
  write('my_app_data/notes.txt', 'precious');
  write('run_2024_01/train/1.log', 'epoch 1\n');
  await start({});
  await waitFor(() => !existsSync(join(dir, 'default_gone_uid-of-gone')), { what: 'the logs to be removed' });
  expect(readdirSync(dir).toSorted()).toEqual(['my_app_data', 'run_2024_01']);
  // The bed checks for files that pods have left.
  for (const name of readdirSync(dir)) rmSync(join(dir, name), { recursive: true });
});

asRoot(
  'are rotated on a full disk too; only whole lines are lost, and new lines follow when the disk has space',
  async () => {
    const disk = join(bed.rootDir, 'pods');
    mkdirSync(disk, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=512k', 'tmpfs', disk]);
    try {
      const maxSizeBytes = 20_000;
      await start(rotating(maxSizeBytes));
      const script = 'i=0; while :; do for k in 1 2 3 4 5; do i=$((i+1)); echo $i; done; sleep 0.01; done';
      apply('counter', { terminationGracePeriodSeconds: 1, containers: [shell(script)] });
      const pod = await daemon.running('counter');
      const log = join(logsOf(pod), '0.log');
      const filler = join(disk, 'filler');
      const { ino } = await waitFor(
        () => {
          fill(filler);
          const stat = statSync(log, { throwIfNoEntry: false });
          if (stat && stat.size >= maxSizeBytes) return stat;
          rmSync(filler);
          return undefined;
        },
        { what: 'a log that is to be rotated, and no room' },
      );
      const isAnother = () => (statSync(log, { throwIfNoEntry: false })?.ino ?? ino) !== ino;
      await waitFor(isAnother, { what: 'the rotation' });
      rmSync(filler);
      await waitFor(() => (statSync(log, { throwIfNoEntry: false })?.size ?? 0) > 0, { what: 'new lines' });
      expect(containerStatus(await daemon.running('counter'))?.restartCount).toBe(0);
      const numbers = await waitFor(() => unlessMoved(() => saidIn(pathsOf(pod)).map(Number)), {
        what: 'all logs to be there at once',
      });
      expect(numbers.length).toBeGreaterThan(100);
      expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
      withdraw('counter');
      await daemon.onlyPods();
      expect(readdirSync(disk)).toEqual([]);
    } finally {
      execFileSync('umount', ['-l', disk]);
    }
  },
);

/** Fills the disk. */
function fill(file: string): void {
  const fd = openSync(file, 'w');
  try {
    for (;;) writeSync(fd, Buffer.alloc(4096));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(fd);
  }
}
