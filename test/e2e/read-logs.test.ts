/** `statelet logs` at a daemon with plain processes. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { DaemonBed, startStatelet, statelet } from '../support/daemon.ts';
import { waitFor } from '../support/wait-for.ts';
import { manifest, shell } from './manifests.ts';

const LINES = 4000;

let bed: DaemonBed;

beforeEach(async () => {
  bed = new DaemonBed();
  const file = join(bed.dir, 'config.json');
  const head = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
  const rotation = {
    containerLogMaxSize: '40Ki',
    containerLogMaxFiles: 5,
    containerLogMonitorInterval: '1s',
  };
  writeFileSync(file, JSON.stringify({ ...head, ...rotation }));
  await bed.start('--config', file);
});
afterEach(() => bed.cleanUp());

const apply = (name: string, fields: Parameters<typeof manifest>[1]) =>
  writeFileSync(join(bed.manifestDir, `${name}.json`), manifest(name, fields));
const logs = (...args: readonly string[]) => statelet('logs', '--root-dir', bed.rootDir, ...args);

test('logs of a container are printed with the flags of kubectl', async () => {
  apply('web', { containers: [shell('echo one; echo two >&2; printf three; sleep 1000')] });
  const isSaid = async () => (await logs('web')).stdout.split('\n').length > 2;
  await waitFor(isSaid, { what: 'the lines', pauseMs: 200 });
  const { stdout } = await logs('web');
  expect(stdout.trim().split('\n').toSorted()).toEqual(['one', 'two']);
  expect((await logs('default/web', '--tail', '1', '--prefix')).stdout).toMatch(
    /^\[pod\/web-node-a\/main\] \w+\n$/,
  );
  expect((await logs('web', '--limit-bytes', '2')).stdout).toBe(stdout.slice(0, 2));
  expect(await logs('web', '--previous')).toMatchObject({
    code: 1,
    stderr: 'statelet: previous terminated container "main" in pod "web-node-a" not found\n',
  });
  expect(await logs('nothing')).toMatchObject({ code: 1, stdout: '' });
});

test('a log is followed over rotations without a gap, to the end of the container', async () => {
  const go = join(bed.dir, 'go');
  const count = `while [ $i -lt ${LINES} ]; do i=$((i+1)); echo line $i; [ $((i%200)) = 0 ] && sleep 0.2; done; true`;
  const script = `echo ready; while [ ! -e ${go} ]; do sleep 0.1; done; i=0; ${count}`;
  apply('counter', { restartPolicy: 'Never', containers: [shell(script)] });
  await waitFor(async () => (await logs('counter')).stdout === 'ready\n', {
    what: 'the container',
    pauseMs: 200,
  });
  const client = startStatelet('logs', '--root-dir', bed.rootDir, '--follow', 'counter');
  if (client.child.stdout) await once(client.child.stdout, 'data');
  writeFileSync(go, '');
  const { code, stdout, stderr } = await client.result;
  const counted = Array.from({ length: LINES }, (_, index) => `line ${index + 1}`);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.trim().split('\n')).toEqual(['ready', ...counted]);
});
