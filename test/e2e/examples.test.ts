/** The pods of `examples/pods` behave as their comments say. One daemon runs all of them, as they are made to run together. */
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Pod } from '../../src/types/kubernetes.ts';
import { containerStatus, type Daemon, DaemonBed, NODE_NAME, stateOf } from '../support/daemon.ts';
import { waitFor } from '../support/wait-for.ts';

const examples = fileURLToPath(new URL('../../examples/pods', import.meta.url));

let bed: DaemonBed;
let daemon: Daemon;

describe('examples/pods', () => {
  beforeAll(async () => {
    bed = new DaemonBed();
    daemon = await bed.run(['--pods', examples, '--exit-with-pods']);
  });
  afterAll(async () => bed.cleanUp());

  const isFinished = (pod: Pod) => stateOf(pod) === 'Terminated.Finished';
  /** The output of the container, without times and streams. */
  const output = (pod: Pod, container: string, attempt = 0) =>
    bed.containerLog(pod.metadata, container, attempt).replaceAll(/^\S+ std(out|err) [FP] /gm, '');

  test('who-am-i: the environment of the container names its pod', async () => {
    const pod = await daemon.running('who-am-i');
    const { name, namespace, uid } = pod.metadata;
    const greeting = `I am ${name} of team examples, in namespace ${namespace} on node ${NODE_NAME} (${uid})\n`;
    await waitFor(() => output(pod, 'main') === greeting, { what: `the container to write ${greeting}` });
  });

  test('crash-loop: CrashLoopBackOff for 10 s at first, with exit code and last message', async () => {
    const isBackingOff = (pod: Pod) => stateOf(pod) === 'Syncing.BackingOff';
    const pod = await daemon.until('crash-loop', 'backing off', isBackingOff);
    expect(containerStatus(pod, 'crash')).toMatchObject({
      restartCount: 1,
      state: {
        waiting: { reason: 'CrashLoopBackOff', message: expect.stringContaining('back-off 10s restarting') },
      },
      lastState: { terminated: { exitCode: 3, reason: 'Error', message: 'starting\nno luck today\n' } },
    });
  });

  test('count-down: fails twice, and succeeds', async () => {
    const { metadata } = await daemon.until('count-down', 'known', () => true);
    try {
      const pod = await daemon.until('count-down', 'finished', isFinished);
      expect(pod.status?.phase).toBe('Succeeded');
      expect(containerStatus(pod, 'count-down')).toMatchObject({
        restartCount: 2,
        state: { terminated: { exitCode: 0 } },
        lastState: { terminated: { exitCode: 1 } },
      });
      expect(output(pod, 'count-down', 2)).toBe('attempt 3: done\n');
    } finally {
      // Its record of its attempts, in case the test ends early.
      rmSync(join('/tmp', `count-down-${metadata.uid}`), { force: true });
    }
  });

  test('init-and-sidecar: in order, and when the work is done the sidecar is ended and the pod has succeeded', async () => {
    const pod = await daemon.until('init-and-sidecar', 'finished', isFinished);
    expect(pod.status?.phase).toBe('Succeeded');
    const started = daemon.log
      .filter(({ uid, reason }) => uid === pod.metadata.uid && reason === 'Started')
      .map(({ container }) => container);
    expect(started).toEqual(['fetch', 'prepare', 'log', 'work']);
    expect(output(pod, 'work').trimEnd().split('\n')).toHaveLength(5);
    // The shell may say that the "sleep" in its background was ended as well.
    expect(output(pod, 'log')).toMatch(/^(still here\n)+(Terminated\n)?last line, the work is done\n$/);
  });

  test('clock: prints the time, and prints goodbye when the daemon ends its pods', async () => {
    const pod = await daemon.running('clock');
    expect(output(pod, 'clock')).toMatch(/^(it is \d\d:\d\d:\d\d\n)+$/);
    // The log is removed with the pod, but an open file stays readable.
    const log = openSync(join(bed.podLogs(pod.metadata), 'clock', '0.log'), 'r');
    try {
      expect(await daemon.end('SIGINT')).toBe(0);
      expect(readFileSync(log, 'utf8')).toMatch(/ stdout F goodbye\n$/);
    } finally {
      closeSync(log);
    }
  });
});
