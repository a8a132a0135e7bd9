/** Manifests are added, changed and removed, and pods follow them. */
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import {
  containerStatus,
  type Daemon,
  DaemonBed,
  mainProcesses,
  NODE_NAME,
  stateOf,
} from '../support/daemon.ts';
import { awaitFile, Journal, manifest, replaceFile, shell, touch } from './manifests.ts';

let bed: DaemonBed;
let journal: Journal;
let daemon: Daemon;
const file = (name: string) => join(bed.manifestDir, name);

beforeEach(() => {
  bed = new DaemonBed();
  journal = new Journal(bed.dir);
});
afterEach(async () => bed.cleanUp());

test('a manifest is added, changed and removed: its processes start, the old ones end before the new ones start, and all end', async () => {
  daemon = await bed.start();
  writeFileSync(file('web.json'), manifest('web', { containers: [shell(journal.serve('first'))] }));
  const first = await daemon.running('web');
  await journal.until('first starts');
  expect(first.metadata).toMatchObject({ name: `web-${NODE_NAME}`, namespace: 'default' });
  expect(mainProcesses(first)).toHaveLength(1);
  const firstLogs = bed.podLogs(first.metadata);
  expect(existsSync(firstLogs)).toBe(true);

  // It ends slowly, so that the test would notice a second pod that does not wait for it.
  replaceFile(file('web.json'), manifest('web', { containers: [shell(journal.serve('second'))] }));
  await journal.until('second starts');
  expect(journal.lines()).toEqual(['first starts', 'first ends', 'second starts']);
  const second = await daemon.running('web');
  expect(second.metadata.uid).not.toBe(first.metadata.uid);
  expect(mainProcesses(first)).toEqual([]);
  expect(mainProcesses(second)).toHaveLength(1);

  rmSync(file('web.json'));
  await journal.until('second ends');
  await daemon.onlyPods();
  expect(mainProcesses(second)).toEqual([]);
  expect(existsSync(firstLogs)).toBe(false);
  const lives = daemon.log
    .filter(({ reason = '' }) => reason === 'Started' || reason === 'Killing')
    .map(({ uid, reason }) => `${uid === first.metadata.uid ? 'first' : 'second'} ${reason}`);
  expect(lives).toEqual(['first Started', 'first Killing', 'second Started', 'second Killing']);
});

test('9: a manifest that is removed and made again at once, later, or under the next agent, restarts its pod, whose containers count on', async () => {
  daemon = await bed.start();
  const content = manifest('web', { containers: [shell(journal.serve('web'))] });
  writeFileSync(file('web.json'), content);
  const { metadata } = await daemon.running('web');
  await journal.until('web starts');
  rmSync(file('web.json'));
  writeFileSync(file('web.json'), content);
  const counts = (count: number) =>
    daemon.until('web', `restarted ${count} times`, (pod) => {
      const status = containerStatus(pod);
      return status?.restartCount === count && status.state?.running !== undefined;
    });
  expect((await counts(1)).metadata.uid).toBe(metadata.uid);
  const noted = ['web starts', 'web ends', 'web starts'];
  await journal.until(...noted);
  expect(journal.lines()).toEqual(noted);

  rmSync(file('web.json'));
  await daemon.onlyPods();
  writeFileSync(file('web.json'), content);
  expect((await counts(2)).metadata.uid).toBe(metadata.uid);

  rmSync(file('web.json'));
  await daemon.onlyPods();
  await daemon.end('SIGKILL');
  daemon = await bed.start();
  writeFileSync(file('web.json'), content);
  const last = await counts(3);
  expect(last.metadata.uid).toBe(metadata.uid);
  expect(bed.containerLog(last.metadata, 'main', 3)).toBe('');
});

test('I6: another manifest with the same pod name replaces the file: the two pods never overlap', async () => {
  daemon = await bed.start();
  const go = join(bed.dir, 'go');
  const containers = [shell(journal.serveWaiting('first', awaitFile(go)))];
  writeFileSync(file('web.json'), manifest('web', { terminationGracePeriodSeconds: 100, containers }));
  await daemon.running('web');
  await journal.until('first starts');
  writeFileSync(
    join(bed.dir, 'other'),
    manifest('web', { containers: [shell(journal.serve('second', 0.5))] }),
  );
  renameSync(join(bed.dir, 'other'), file('web.json'));
  await daemon.inState('web', 'Syncing.Starting.AwaitingName');
  // A third pod replaces the second while that is waiting, and so starts next.
  replaceFile(file('web.json'), manifest('web', { containers: [shell(journal.serve('third'))] }));
  await daemon.until('web', 'the third', ({ spec }) => JSON.stringify(spec).includes('third starts'));
  touch(go);
  await journal.until('third starts');
  expect(journal.lines()).toEqual(['first starts', 'first ends', 'third starts']);
});

test('two manifests with the same name: one pod runs, the other is reported with both files', async () => {
  writeFileSync(file('a.json'), manifest('web', { containers: [shell(journal.serve('a'))] }));
  writeFileSync(file('b.json'), manifest('web', { containers: [shell(journal.serve('b'))] }));
  writeFileSync(file('c.json'), manifest('other'));
  daemon = await bed.start();
  const a = await daemon.running('web');
  const { msg } = await daemon.warning(file('a.json'), file('b.json'));
  expect(msg).toBe(
    `${file('b.json')}: metadata.name: "web-${NODE_NAME}" in namespace "default" is that of a pod in ` +
      `${file('a.json')}: this pod is left out`,
  );
  await daemon.running('other');
  await daemon.onlyPods('other', 'web');
  await journal.until('a starts');
  expect(journal.lines()).toEqual(['a starts']);
  expect(mainProcesses(a)).toHaveLength(1);

  // The name is free: the other pod gets it, after the first has ended.
  rmSync(file('a.json'));
  await journal.until('b starts');
  expect(journal.lines()).toEqual(['a starts', 'a ends', 'b starts']);
});

test('init containers run one after the other; the sidecar starts before the main container and ends after it', async () => {
  writeFileSync(
    file('job.json'),
    manifest('job', {
      restartPolicy: 'Never',
      initContainers: [
        shell(`${journal.note('one starts')}; sleep 0.1; ${journal.note('one ends')}`, { name: 'one' }),
        shell(`${journal.note('two starts')}; ${journal.note('two ends')}`, { name: 'two' }),
        shell(journal.serve('sidecar'), { name: 'sidecar', restartPolicy: 'Always' }),
      ],
      containers: [
        shell(`${journal.note('main starts')}; ${awaitFile(`${bed.dir}/go`)}; ${journal.note('main ends')}`),
      ],
    }),
  );
  daemon = await bed.start();
  const running = await daemon.running('job');
  expect(mainProcesses(running, 'sidecar')).toHaveLength(1);
  expect(containerStatus(running, 'one')?.state?.terminated).toMatchObject({
    exitCode: 0,
    reason: 'Completed',
  });
  // Only a sidecar that has come so far hears its SIGTERM.
  await journal.until('main starts', 'sidecar starts');
  touch(join(bed.dir, 'go'));
  const { status } = await daemon.inPhase('job', 'Succeeded');
  expect(status?.initContainerStatuses?.map(({ state }) => state?.terminated?.exitCode)).toEqual([0, 0, 0]);
  const lines = journal.lines();
  // The sidecar starts before the main container; either shell may write its first line first.
  expect(lines.slice(4, 6).toSorted()).toEqual(['main starts', 'sidecar starts']);
  expect([...lines.slice(0, 4), ...lines.slice(6)]).toEqual([
    'one starts',
    'one ends',
    'two starts',
    'two ends',
    'main ends',
    'sidecar ends',
  ]);
  const started = daemon.log.filter(({ reason }) => reason === 'Started').map(({ container }) => container);
  expect(started).toEqual(['one', 'two', 'sidecar', 'main']);
});

test('4: a container that ignores SIGTERM is killed after its grace period, and not earlier', async () => {
  const stubborn = `trap '${journal.note('TERM ignored')}' TERM; ${journal.note('starts')}; while :; do sleep 0.1; done`;
  const containers = [shell(stubborn), shell(journal.serve('polite'), { name: 'polite' })];
  writeFileSync(file('web.json'), manifest('web', { terminationGracePeriodSeconds: 10, containers }));
  daemon = await bed.start();
  const pod = await daemon.running('web');
  await journal.until('starts', 'polite starts');
  rmSync(file('web.json'));
  await journal.until('TERM ignored', 'polite ends');
  expect(mainProcesses(pod)).toHaveLength(1);
  expect(stateOf(await daemon.until('web', 'known', () => true))).toBe('Terminating.Stopping');
  await daemon.onlyPods();
  expect(mainProcesses(pod)).toEqual([]);
});

test('4: the exit code of a killed container is 137', async () => {
  const sidecar = shell('trap "" TERM; while :; do sleep 0.1; done', {
    name: 'sidecar',
    restartPolicy: 'Always',
  });
  writeFileSync(
    file('job.json'),
    manifest('job', {
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 1,
      initContainers: [sidecar],
      containers: [shell('exit 0')],
    }),
  );
  daemon = await bed.start();
  const pod = await daemon.inState('job', 'Terminated.Finished');
  expect(pod.status?.phase).toBe('Succeeded');
  expect(containerStatus(pod, 'sidecar')?.state?.terminated).toMatchObject({
    exitCode: 137,
    reason: 'Error',
  });
});
