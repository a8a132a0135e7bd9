/** The daemon and its monitor are killed, and the monitor's records cannot be used afterwards. */
import { readdirSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { containerStatus, type Daemon, DaemonBed, mainProcesses } from '../support/daemon.ts';
import { processesOf } from '../support/processes-of.ts';
import { kill9 } from '../support/process-runtime.ts';
import { Journal, manifest, replaceFile, shell } from './manifests.ts';

let bed: DaemonBed;
let journal: Journal;

beforeEach(() => {
  bed = new DaemonBed();
  journal = new Journal(bed.dir);
});
afterEach(async () => bed.cleanUp());

async function runPod() {
  replaceFile(
    join(bed.manifestDir, 'web.json'),
    manifest('web', { containers: [shell(journal.serve('web'))] }),
  );
  const daemon = await bed.start();
  const pod = await daemon.running('web');
  await journal.until('web starts');
  return { daemon, pod };
}

async function killAll(daemon: Daemon): Promise<void> {
  await daemon.end('SIGKILL');
  const monitor = processesOf(bed.dir).find(({ text }) => text === 'statelet-monitor');
  if (monitor) await kill9(monitor.pid);
}

function records(isDamaged: (name: string) => boolean): readonly string[] {
  const runtimeDir = join(bed.rootDir, 'runtime');
  const files = readdirSync(runtimeDir, { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.endsWith('.json') && isDamaged(file))
    .map((file) => join(runtimeDir, file));
}

test('I10: a container whose record is cut off is adopted; the log and an event of the pod say so', async () => {
  const { daemon, pod } = await runPod();
  const processes = mainProcesses(pod);
  await killAll(daemon);
  const damaged = records((file) => file.endsWith('state.json') || file.startsWith('sandboxes'));
  expect(damaged).toHaveLength(2);
  for (const file of damaged) truncateSync(file, 40);

  const next = await bed.start();
  const event = await next.logged(
    'the damage',
    ({ reason, msg }) => reason === 'DamagedRecord' && msg.includes('state.json'),
  );
  expect(event).toMatchObject({
    level: 'warn',
    pod: pod.metadata.namespace + '/' + pod.metadata.name,
    container: 'main',
  });
  await next.inState('web', 'Syncing.Settled');
  const after = await next.running('web');
  expect(mainProcesses(after)).toEqual(processes);
  expect(containerStatus(after)).toMatchObject({
    containerID: containerStatus(pod)?.containerID,
    restartCount: 0,
    ready: true,
  });
  expect(journal.lines()).toEqual(['web starts']);
});

test('I10: a container whose record and copy are gone is ended before the pod starts it again', async () => {
  const { daemon, pod } = await runPod();
  const [before] = mainProcesses(pod);
  await killAll(daemon);
  for (const file of records((name) => name.startsWith('containers'))) rmSync(file);

  const next = await bed.start();
  expect(await next.event('web', 'DamagedRecord')).toMatchObject({ level: 'warn' });
  const after = await next.until('web', 'restarted', (seen) => containerStatus(seen)?.restartCount === 1);
  expect(mainProcesses(after)).toHaveLength(1);
  expect(processesOf(bed.dir).map(({ pid }) => pid)).not.toContain(before?.pid);
  await journal.until('web starts', 'web starts');
});
