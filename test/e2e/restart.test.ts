/** Containers that end, with each restart policy. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { containerStatus, type Daemon, DaemonBed, mainProcesses, stateOf } from '../support/daemon.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import { Journal, manifest, type ManifestFields, SERVE, shell } from './manifests.ts';

let bed: DaemonBed;
let journal: Journal;
let daemon: Daemon;

beforeEach(() => {
  bed = new DaemonBed();
  journal = new Journal(bed.dir);
});
afterEach(async () => bed.cleanUp());

function write(name: string, fields: ManifestFields): void {
  writeFileSync(join(bed.manifestDir, `${name}.json`), manifest(name, fields));
}

test('a container that crashes again and again has CrashLoopBackOff, a restart count and a last state as with the kubelet', async () => {
  const config = join(bed.dir, 'config.yaml');
  const text = [
    'apiVersion: kubelet.config.k8s.io/v1beta1',
    'kind: KubeletConfiguration',
    'crashLoopBackOff: { maxContainerRestartPeriod: 1s }',
  ];
  writeFileSync(config, text.join('\n'));
  const crash = shell(`${journal.note('crash starts')}; echo "no luck"; exit 3`, {
    name: 'crash',
    terminationMessagePolicy: 'FallbackToLogsOnError',
  });
  write('loop', { containers: [crash, shell(SERVE, { name: 'well' })] });
  daemon = await bed.start('--config', config);
  const restarts = (pod: Pod) => containerStatus(pod, 'crash')?.restartCount ?? 0;
  const backsOff = (pod: Pod) =>
    stateOf(pod) === 'Syncing.BackingOff' && containerStatus(pod, 'crash')?.state?.waiting !== undefined;
  for (const count of [1, 2, 3]) {
    const hasRestarted = (pod: Pod) => backsOff(pod) && restarts(pod) >= count;
    const pod = await daemon.until('loop', `backing off after restart ${count}`, hasRestarted);
    const { name, namespace, uid } = pod.metadata;
    expect(pod.status?.phase).toBe('Running');
    expect(containerStatus(pod, 'crash')).toMatchObject({
      ready: false,
      state: {
        waiting: {
          reason: 'CrashLoopBackOff',
          message: `back-off 1s restarting failed container=crash pod=${name}_${namespace}(${uid})`,
        },
      },
      lastState: { terminated: { exitCode: 3, reason: 'Error', message: 'no luck\n' } },
    });
    expect(containerStatus(pod, 'well')).toMatchObject({ ready: true, restartCount: 0 });
    expect(bed.containerLog(pod.metadata, 'crash', restarts(pod))).toContain('no luck');
  }
});

test('restartPolicy Never: the pod is Succeeded or Failed by its exit codes, and nothing runs again', async () => {
  write('good', { restartPolicy: 'Never', containers: [shell(journal.note('good runs'))] });
  write('bad', {
    restartPolicy: 'Never',
    containers: [
      shell(
        `${journal.note('bad runs')}; sleep 0.1; printf "out of luck" > "$STATELET_TERMINATION_LOG"; exit 42`,
      ),
      shell('exit 0', { name: 'fine' }),
    ],
  });
  write('killed', { restartPolicy: 'Never', containers: [shell('kill -KILL $$$$')] });
  write('talkative', {
    restartPolicy: 'Never',
    containers: [shell('echo "to the log"; exit 1', { terminationMessagePolicy: 'FallbackToLogsOnError' })],
  });
  daemon = await bed.start();
  const good = await daemon.inState('good', 'Terminated.Finished');
  expect(good.status?.phase).toBe('Succeeded');
  expect(containerStatus(good)?.state?.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' });

  const bad = await daemon.inState('bad', 'Terminated.Finished');
  expect(bad.status?.phase).toBe('Failed');
  expect(containerStatus(bad)).toMatchObject({
    ready: false,
    restartCount: 0,
    state: { terminated: { exitCode: 42, reason: 'Error', message: 'out of luck' } },
  });
  expect(containerStatus(bad, 'fine')?.state?.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' });

  const killed = await daemon.inState('killed', 'Terminated.Finished');
  expect(containerStatus(killed)?.state?.terminated).toMatchObject({ exitCode: 137 });
  const talkative = await daemon.inState('talkative', 'Terminated.Finished');
  expect(containerStatus(talkative)?.state?.terminated).toMatchObject({
    exitCode: 1,
    message: 'to the log\n',
  });
  expect(journal.lines().toSorted()).toEqual(['bad runs', 'good runs']);
  // A finished pod is served as long as it has a manifest.
  await daemon.onlyPods('bad', 'good', 'killed', 'talkative');
});

test('the termination message of a container that ends at once is not lost', async () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
  const script = 'printf "out of luck" > "$STATELET_TERMINATION_LOG"; exit 1';
  for (const name of names) write(name, { restartPolicy: 'Never', containers: [shell(script)] });
  daemon = await bed.start();
  for (const name of names) {
    const pod = await daemon.inState(name, 'Terminated.Finished');
    expect(containerStatus(pod)?.state?.terminated).toMatchObject({ exitCode: 1, message: 'out of luck' });
  }
});

test('restartPolicy OnFailure: failed containers are restarted, completed ones are not, then the pod is Succeeded', async () => {
  const failsOnce = `${journal.note('runs')}; test -e ${bed.dir}/tried && exit 0; touch ${bed.dir}/tried; exit 5`;
  write('job', {
    restartPolicy: 'OnFailure',
    containers: [shell(failsOnce), shell(journal.note('other runs'), { name: 'other' })],
  });
  daemon = await bed.start();
  const { status } = await daemon.inState('job', 'Terminated.Finished');
  expect(status?.phase).toBe('Succeeded');
  expect(status?.containerStatuses).toMatchObject([
    {
      name: 'main',
      restartCount: 1,
      state: { terminated: { exitCode: 0, reason: 'Completed' } },
      lastState: { terminated: { exitCode: 5, reason: 'Error' } },
    },
    { name: 'other', restartCount: 0, state: { terminated: { exitCode: 0, reason: 'Completed' } } },
  ]);
  expect(journal.lines().toSorted()).toEqual(['other runs', 'runs', 'runs']);
});

test('a container without a command has CreateContainerConfigError with the cause; the other containers of its pod run', async () => {
  write('web', { containers: [{ name: 'idle', image: 'nginx:1.27' }, shell(SERVE)] });
  daemon = await bed.start();
  const failed = await daemon.event('web', 'Failed');
  expect(failed).toMatchObject({ container: 'idle', msg: expect.stringMatching(/^Error: .*command/) });
  const pod = await daemon.until(
    'web',
    'half running',
    (seen) => containerStatus(seen)?.state?.running !== undefined,
  );
  expect(containerStatus(pod, 'idle')?.state?.waiting).toEqual({
    reason: 'CreateContainerConfigError',
    message: expect.stringMatching(
      /container "idle" has no command: .*no image to take a command from.*"nginx:1.27".*docs\/nginx\.md/,
    ),
  });
  expect(stateOf(pod)).toBe('Syncing.BackingOff');
  expect(mainProcesses(pod)).toHaveLength(1);
});

test('a container whose variables repeat each other has CreateContainerConfigError with the name of one, and other pods run', async () => {
  const env = Array.from({ length: 20 }, (_, index) => ({
    name: `A${index}`,
    value: index === 0 ? 'x'.repeat(10) : `$(A${index - 1})`.repeat(10),
  }));
  write('grows', { containers: [shell(SERVE, { env })] });
  write('web', { containers: [shell(SERVE)] });
  daemon = await bed.start();
  const { msg } = await daemon.event('grows', 'Failed');
  expect(msg).toMatch(/^Error: environment variable "A5" of container "main" is longer than 128 KiB/);
  await daemon.running('web');
  const isWaiting = (pod: Pod) =>
    containerStatus(pod)?.state?.waiting?.reason === 'CreateContainerConfigError';
  const grows = await daemon.until('grows', 'waiting', isWaiting);
  expect(containerStatus(grows)?.state?.waiting?.message).toContain('environment variable "A5"');
});

test('a missing command and an unusable working directory have other errors than a failing command', async () => {
  const containers = [{ name: 'main', command: ['/nowhere/to/be/found'] }];
  write('lost', { restartPolicy: 'Never', containers });
  write('homeless', { restartPolicy: 'Never', containers: [shell('exit 0', { workingDir: '/nowhere' })] });
  daemon = await bed.start();
  const lost = await daemon.inState('lost', 'Terminated.Finished');
  expect(lost.status?.phase).toBe('Failed');
  expect(containerStatus(lost)?.state?.terminated).toMatchObject({
    exitCode: 127,
    reason: 'StartError',
    message: expect.stringContaining('/nowhere/to/be/found'),
  });
  const homeless = await daemon.inState('homeless', 'Terminated.Finished');
  expect(containerStatus(homeless)?.state?.terminated).toMatchObject({
    exitCode: 128,
    message: expect.stringContaining('/nowhere'),
  });
});
