/** The daemon ends or is killed, and the next daemon adopts its pods. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { containerStatus, DaemonBed, isRunning, mainProcesses, stateOf } from '../support/daemon.ts';
import { processesOf } from '../support/processes-of.ts';
import { sendSignal } from '../support/send-signal.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  awaitFile,
  Journal,
  manifest,
  type ManifestFields,
  replaceFile,
  SERVE,
  shell,
  touch,
} from './manifests.ts';

let bed: DaemonBed;
let journal: Journal;

beforeEach(() => {
  bed = new DaemonBed();
  journal = new Journal(bed.dir);
});
afterEach(async () => bed.cleanUp());

const file = (name: string) => join(bed.manifestDir, `${name}.json`);
function write(name: string, fields: ManifestFields = {}): void {
  replaceFile(file(name), manifest(name, fields));
}

test('I10: kill -9 of the daemon: the next daemon adopts the running containers, and no container is started twice or lost', async () => {
  write('web', { containers: [shell(journal.serve('web')), shell(SERVE, { name: 'other' })] });
  const first = await bed.start();
  const before = await first.running('web');
  await journal.until('web starts');
  const processes = [...mainProcesses(before), ...mainProcesses(before, 'other')];
  expect(processes).toHaveLength(2);
  expect(await first.end('SIGKILL')).toBe('SIGKILL');
  expect(processes.every(isRunning)).toBe(true);

  const second = await bed.start();
  await second.inState('web', 'Syncing.Settled');
  const after = await second.running('web');
  // The same processes, by pid and start time; the same containers, by id, start time and restart count.
  expect([...mainProcesses(after), ...mainProcesses(after, 'other')]).toEqual(processes);
  expect(after.status?.containerStatuses).toEqual(before.status?.containerStatuses);
  expect(after.metadata.uid).toBe(before.metadata.uid);
  expect(second.log.map(({ reason }) => reason)).not.toContain('Started');
  expect(journal.lines()).toEqual(['web starts']);
});

const LONG_AGO = '2020-01-01T00:00:00Z';
const startRecord = (uid: string) => join(bed.rootDir, 'pods', uid, 'start-time');

test('I10: a pod keeps its start time over kill -9 of the daemon', async () => {
  write('web', { activeDeadlineSeconds: 1_000_000_000 });
  const first = await bed.start();
  const { metadata, status } = await first.running('web');
  expect(await first.end('SIGKILL')).toBe('SIGKILL');
  expect(readFileSync(startRecord(metadata.uid), 'utf8')).toBe(`${status?.startTime}\n`);
  writeFileSync(startRecord(metadata.uid), `${LONG_AGO}\n`);

  const second = await bed.start();
  expect((await second.running('web')).status?.startTime).toBe(LONG_AGO);
  // After the first pod was forgotten, a pod with the same UID is a new pod.
  rmSync(file('web'));
  await second.onlyPods();
  expect(readdirSync(join(bed.rootDir, 'pods'))).toEqual([]);
  write('web', { activeDeadlineSeconds: 1_000_000_000 });
  const anew = await second.running('web');
  expect(anew.metadata.uid).toBe(metadata.uid);
  expect(Date.parse(anew.status?.startTime ?? '')).toBeGreaterThan(Date.parse(LONG_AGO));
});

test('an active deadline that passes while the daemon is down ends the pod; a pod that had completed before stays Succeeded', async () => {
  write('web', { activeDeadlineSeconds: 600 });
  write('job', { activeDeadlineSeconds: 600, restartPolicy: 'Never', containers: [shell('exit 0')] });
  const first = await bed.start();
  const { uid } = (await first.running('web')).metadata;
  const job = await first.inState('job', 'Terminated.Finished');
  await first.end('SIGKILL');
  writeFileSync(startRecord(uid), `${LONG_AGO}\n`);

  const second = await bed.start();
  expect((await second.inState('web', 'Terminated.Finished')).status).toMatchObject({
    phase: 'Failed',
    reason: 'DeadlineExceeded',
  });
  expect(await second.event('web', 'DeadlineExceeded')).toMatchObject({
    level: 'info',
    msg: 'Pod was active on the node longer than the specified deadline',
  });
  const kept = await second.inState('job', 'Terminated.Finished');
  expect(kept.status).toMatchObject({ phase: 'Succeeded', startTime: job.status?.startTime });
  await second.end('SIGKILL');

  // Another restart does not run it again, either.
  const third = await bed.start();
  const ended = await third.inState('web', 'Terminated.Finished');
  expect(ended.status).toMatchObject({ phase: 'Failed', reason: 'DeadlineExceeded', startTime: LONG_AGO });
  expect(mainProcesses(ended)).toEqual([]);
});

test('I10: a container that ends while the daemon is down: with Never its pod is Failed, with Always it is restarted', async () => {
  const go = join(bed.dir, 'go');
  write('job', { restartPolicy: 'Never', containers: [shell(`${awaitFile(go)}; echo over; exit 7`)] });
  const endsOnce = `test -e ${go} || { ${journal.note('web waits')}; ${awaitFile(go)}; exit 8; }; ${SERVE}`;
  write('web', { containers: [shell(endsOnce)] });
  const first = await bed.start();
  const pods = [await first.running('job'), await first.running('web')];
  await journal.until('web waits');
  await first.end('SIGKILL');
  touch(go);
  await waitFor(() => pods.flatMap((pod) => mainProcesses(pod)).length === 0, { what: 'both to end' });

  const second = await bed.start();
  const job = await second.inState('job', 'Terminated.Finished');
  expect(job.status?.phase).toBe('Failed');
  expect(containerStatus(job)).toMatchObject({
    restartCount: 0,
    state: { terminated: { exitCode: 7, reason: 'Error' } },
  });
  expect(bed.containerLog(job.metadata, 'main')).toContain('stdout F over');
  const web = await second.until('web', 'restarted', (pod) => containerStatus(pod)?.restartCount === 1);
  expect(containerStatus(await second.running('web'))).toMatchObject({
    restartCount: 1,
    lastState: { terminated: { exitCode: 8, reason: 'Error' } },
  });
  expect(web.metadata.uid).toBe(pods[1]?.metadata.uid);
});

test('I10: manifests that were removed, added or changed while the daemon was down take effect at its start', async () => {
  for (const name of ['kept', 'gone', 'changed']) write(name, { containers: [shell(journal.serve(name))] });
  const first = await bed.start();
  const [kept, gone] = [await first.running('kept'), await first.running('gone')];
  await first.running('changed');
  await journal.until('kept starts', 'gone starts', 'changed starts');
  const keptProcesses = mainProcesses(kept);
  await first.end('SIGKILL');

  rmSync(file('gone'));
  write('added');
  write('changed', { containers: [shell(journal.serve('successor'))] });
  const second = await bed.start();
  await second.running('added');
  await journal.until('gone ends', 'successor starts');
  await second.onlyPods('added', 'changed', 'kept');
  await waitFor(() => mainProcesses(gone).length === 0, { what: 'the end of the unwanted pod' });
  expect(mainProcesses(await second.running('kept'))).toEqual(keptProcesses);
  // I6, across daemons: the old pod has ended when the new one starts.
  const lines = journal.lines();
  expect(lines.indexOf('changed ends')).toBeGreaterThan(-1);
  expect(lines.indexOf('successor starts')).toBeGreaterThan(lines.indexOf('changed ends'));
});

test('I10: kill -9 in the middle of starting pods, again and again: each container starts once', async () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  for (const name of names) {
    const init = shell(journal.note(`${name} init`), { name: 'init' });
    write(name, { initContainers: [init], containers: [shell(journal.serve(name))] });
  }
  for (const eventCount of [1, 2, 3, 5]) {
    const doomed = await bed.startToLeavePods();
    const isEnough = () => doomed.log.filter(({ reason }) => reason !== undefined).length >= eventCount;
    const allRun = Promise.all(names.map((name) => doomed.running(name)));
    await Promise.race([doomed.logged(`${eventCount} events`, isEnough), allRun]);
    await doomed.end('SIGKILL');
  }
  const last = await bed.start();
  for (const name of names) {
    await last.inState(name, 'Syncing.Settled');
    expect(mainProcesses(await last.running(name))).toHaveLength(1);
  }
  await journal.until(...names.map((name) => `${name} starts`));
  const all = names.flatMap((name) => [`${name} init`, `${name} starts`]);
  expect(journal.lines().toSorted()).toEqual(all.toSorted());
  expect(readdirSync(join(bed.rootDir, 'runtime', 'sandboxes'))).toHaveLength(names.length);
});

test('SIGTERM leaves the pods running, and the next daemon adopts them', async () => {
  write('web', { containers: [shell(journal.serve('web'))] });
  const first = await bed.startToLeavePods();
  const before = await first.running('web');
  await journal.until('web starts');
  const processes = mainProcesses(before);
  expect(await first.end('SIGTERM')).toBe(0);
  expect(first.log.map(({ msg }) => msg).slice(-2)).toEqual(['stopping; pods keep running', 'stopped']);
  expect(first.stderr).toBe('');
  expect(processes.every(isRunning)).toBe(true);

  const second = await bed.start();
  const after = await second.running('web');
  expect(mainProcesses(after)).toEqual(processes);
  expect(after.status?.containerStatuses).toEqual(before.status?.containerStatuses);
  expect(journal.lines()).toEqual(['web starts']);
});

test('--exit-with-pods: SIGINT ends all pods, sidecars last; no process remains, also no monitor', async () => {
  const sidecar = shell(journal.serve('sidecar'), { name: 'sidecar', restartPolicy: 'Always' });
  write('web', { initContainers: [sidecar], containers: [shell(journal.serve('web', 0.2))] });
  write('job', { restartPolicy: 'Never', containers: [shell(journal.note('job done'))] });
  const daemon = await bed.start();
  await daemon.running('web');
  await daemon.inState('job', 'Terminated.Finished');
  await journal.until('sidecar starts', 'web starts');
  expect(processesOf(bed.dir).map(({ text }) => text)).toContain('statelet-monitor');
  expect(await daemon.end('SIGINT')).toBe(0);
  expect(journal.lines().slice(-2)).toEqual(['web ends', 'sidecar ends']);
  expect(daemon.log.at(-1)?.msg).toBe('stopped');
  await waitFor(() => processesOf(bed.dir).length === 0, { what: 'the monitor to leave by itself' });
});

test('a second signal: the daemon exits at once, and its pods continue to end', async () => {
  const stubborn = `trap '${journal.note('TERM ignored')}' TERM; ${journal.note('starts')}; while :; do sleep 0.1; done`;
  write('web', { terminationGracePeriodSeconds: 600, containers: [shell(stubborn)] });
  const daemon = await bed.start();
  const pod = await daemon.running('web');
  await journal.until('starts');
  daemon.signal('SIGTERM');
  await journal.until('TERM ignored');
  expect(stateOf(await daemon.inState('web', 'Terminating.Stopping'))).toBe('Terminating.Stopping');
  // A signal within a second after the first counts as the same signal.
  await waitFor(
    () => {
      daemon.signal('SIGTERM');
      return daemon.ending !== undefined;
    },
    { what: 'the daemon to leave' },
  );
  // One more signal may meet the process at its very end: to a shell both are 143.
  expect([143, 'SIGTERM']).toContain(daemon.ending);
  expect(daemon.log.at(-1)?.msg).toBe('leaving at once: pods may be left running');
  expect(mainProcesses(pod)).toHaveLength(1);
});

test('kill -9 of the daemon while a pod is ending: the next daemon continues to end it', async () => {
  write('web', { terminationGracePeriodSeconds: 60, containers: [shell(journal.serve('web', 0.5))] });
  const first = await bed.startToLeavePods();
  await first.running('web');
  await journal.until('web starts');
  rmSync(file('web'));
  await first.event('web', 'Killing');
  await first.end('SIGKILL');
  writeFileSync(file('other'), manifest('other'));
  const second = await bed.start();
  await second.running('other');
  await journal.until('web ends');
  await second.onlyPods('other');
  await waitFor(() => readdirSync(join(bed.rootDir, 'runtime', 'sandboxes')).length === 1, {
    what: 'nothing to be left of the pod',
  });
});

test('kill -9 of the monitor: the next monitor adopts its containers; an exit code that no monitor saw is 255', async () => {
  const go = join(bed.dir, 'go');
  write('web', { containers: [shell(journal.serve('web'))] });
  write('job', { restartPolicy: 'Never', containers: [shell(`${awaitFile(go)}; exit 0`)] });
  const daemon = await bed.start();
  const web = await daemon.running('web');
  await daemon.running('job');
  await journal.until('web starts');
  const monitor = () => processesOf(bed.dir).find(({ text }) => text === 'statelet-monitor')?.pid;
  const killed = await waitFor(monitor, { what: 'the monitor' });
  const processes = mainProcesses(web);
  sendSignal(killed, 'SIGKILL');
  await waitFor(() => monitor() !== undefined && monitor() !== killed, { what: 'another monitor' });
  touch(go);
  const job = await daemon.inState('job', 'Terminated.Finished');
  expect(containerStatus(job)?.state?.terminated).toMatchObject({ exitCode: 255, reason: 'Unknown' });
  expect(mainProcesses(await daemon.running('web'))).toEqual(processes);
  rmSync(file('web'));
  await journal.until('web ends');
  await daemon.onlyPods('job');
  expect(journal.lines()).toEqual(['web starts', 'web ends']);
});
