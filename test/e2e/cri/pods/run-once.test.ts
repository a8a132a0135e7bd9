/** `statelet run-once` with real containers. */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { readdirSync, rmSync } from 'node:fs';
import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { NODE_NAME } from '../../../support/daemon.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { describeOnBed } from '../../../support/cri-suite.ts';

/** Flags for few retries. */
const ONE_RETRY = ['--max-retries', '1'];

interface PodView {
  readonly name: string;
  readonly result: string;
  readonly reason?: string;
  readonly message?: string;
  readonly failedContainers: readonly string[];
  readonly leftRunning: boolean;
}

describeOnBed('pods that are run once', (bed) => {
  afterAll(async () => {
    // A daemon removes the files of a pod that was never started, after some time.
    await bed.runWithoutPods('--exit-with-pods');
    await waitFor(async () => (await bed.leftBehind()).length === 0, {
      what: 'nothing to be left of the pods',
    });
  });

  const run = async (...flags: string[]) => {
    const { result } = bed.runOnce('--pod-manifest-path', bed.manifestDir, '-o', 'json', ...flags);
    const { code, stdout, stderr } = await result;
    const { pods } = JSON.parse(stdout) as { pods: readonly PodView[] };
    return { code, stderr, pods };
  };
  const known = async () => ({
    sandboxes: (await bed.runtime.listPodSandbox()).map(({ id, state }) => `${id} ${state}`).toSorted(),
    containers: (await bed.runtime.listContainers()).map(({ id, state }) => `${id} ${state}`).toSorted(),
  });
  const name = (pod: string) => `${pod}-${NODE_NAME}`;

  beforeEach(() => {
    for (const file of readdirSync(bed.manifestDir)) rmSync(join(bed.manifestDir, file));
  });

  test('a folder without pods: nothing is created', async () => {
    const { code, stderr, pods } = await run();
    expect([code, pods]).toEqual([1, []]);
    expect(stderr).toContain('statelet: no pod came from the sources\n');
    expect(await known()).toEqual({ sandboxes: [], containers: [] });
  });

  test('all pods succeed, twice: the second run finds them unchanged, and nothing is created', async () => {
    bed.apply('web', { initContainers: [bed.shell('exit 0', { name: 'init' })], containers: [bed.server()] });
    bed.apply('job', { restartPolicy: 'OnFailure', containers: [bed.shell('exit 0')] });
    const first = await run();
    const made = await known();
    const second = await run();
    expect([first.code, second.code]).toEqual([0, 0]);
    expect(first.pods.map((pod) => [pod.name, pod.result, pod.leftRunning])).toEqual([
      [name('job'), 'Completed', false],
      [name('web'), 'Running', true],
    ]);
    expect(second.pods).toEqual(first.pods);
    expect(made.containers).toHaveLength(3);
    expect(await known()).toEqual(made);
  });

  test('some pods are rejected, some cannot be started: each is reported with the cause, and the others run', async () => {
    const cpu = String(availableParallelism() + 1);
    bed.apply('good', { containers: [bed.server()] });
    bed.apply('large', { containers: [bed.server({ resources: { requests: { cpu } } })] });
    bed.apply('elsewhere', { nodeSelector: { disk: 'ssd' }, containers: [bed.server()] });
    bed.apply('failing', { containers: [bed.server(), bed.shell('exit 7', { name: 'bad' })] });
    bed.apply('no-image', {
      containers: [
        bed.server({ image: `${bed.containerd.image}-that-is-not-there`, imagePullPolicy: 'Never' }),
      ],
    });
    bed.apply('no-volume', {
      containers: [bed.server({ volumeMounts: [{ name: 'data', mountPath: '/data' }] })],
      volumes: [{ name: 'data', hostPath: { path: '/is/not/there', type: 'Directory' } }],
    });
    const { code, pods } = await run(...ONE_RETRY);
    expect(code).toBe(1);
    const told = Object.fromEntries(pods.map((pod) => [pod.name, pod]));
    expect(told[name('good')]).toMatchObject({ result: 'Running' });
    expect(told[name('large')]).toMatchObject({ result: 'Rejected', reason: 'OutOfcpu', leftRunning: false });
    expect(told[name('elsewhere')]).toMatchObject({ result: 'Rejected', reason: 'NodeAffinity' });
    expect(told[name('failing')]).toMatchObject({ result: 'Failed', failedContainers: ['bad'] });
    expect(told[name('no-image')]).toMatchObject({
      result: 'Failed',
      failedContainers: ['main'],
      message: expect.stringContaining('ErrImageNeverPull'),
    });
    expect(told[name('no-volume')]).toMatchObject({
      result: 'Failed',
      failedContainers: [],
      leftRunning: false,
      message: expect.stringContaining('FailedMount'),
    });
  });

  test('while a daemon runs in the root folder, run-once refuses', async () => {
    const daemon = await bed.startToLeavePods();
    const { code, stdout, stderr } = await bed.runOnce('--pod-manifest-path', bed.manifestDir).result;
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`--root-dir ${bed.rootDir} is in use by another instance (pid ${daemon.pid})`);
    await daemon.end();
  });
});
