/** The commands for the pods of a running daemon, at the socket in its root folder. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { BIN } from '../support/built.ts';
import { completions, DaemonBed, mainProcesses, statelet } from '../support/daemon.ts';
import { distinctLines, hashOf, readSlowly } from '../support/slow-reader.ts';
import { waitFor } from '../support/wait-for.ts';
import { manifest, shell } from './manifests.ts';

let bed: DaemonBed;
const WEB = 'web.json';
const file = (name: string) => join(bed.manifestDir, name);
const run = (command: string, ...args: string[]) => statelet(command, '--root-dir', bed.rootDir, ...args);
const web = (words = 'exec sleep 1000') => manifest('web', { containers: [shell(words)] });

beforeEach(() => {
  bed = new DaemonBed();
  writeFileSync(file(WEB), web());
});
afterEach(async () => bed.cleanUp());

test('exec runs a command: its output, its input and its exit code pass through', async () => {
  const daemon = await bed.start();
  await daemon.running('web');
  expect(await run('exec', 'web', '-q', '--', 'sh', '-c', 'echo out; echo err >&2; exit 3')).toEqual({
    code: 3,
    stdout: 'out\n',
    stderr: 'err\n',
  });
  const args = ['exec', '--root-dir', bed.rootDir, '-i', 'web', '--', 'sha256sum'];
  const child = spawn(process.execPath, [BIN, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const output = text(child.stdout);
  const input = Buffer.alloc(3_000_000, 'x');
  child.stdin.end(input);
  const [code] = (await once(child, 'close')) as [number];
  const hash = createHash('sha256').update(input).digest('hex');
  expect([code, await output]).toEqual([0, `${hash}  -\n`]);
});

test('exec, attach and logs give a slow reader all output, until the end of the container', async () => {
  const output = distinctLines(220_000);
  const path = join(bed.dir, 'output');
  writeFileSync(path, output);
  const whole = { bytes: output.length, hash: hashOf(output) };
  const main = { ...shell(`read go; cat ${path}`), stdin: true };
  const side = { ...shell('exec sleep 1000'), name: 'side' };
  writeFileSync(file(WEB), manifest('web', { restartPolicy: 'Never', containers: [main, side] }));
  const daemon = await bed.start('--container-log-max-size', '1Gi');
  await daemon.running('web');
  const begin = (...args: string[]) => spawn(process.execPath, [BIN, ...args, '--root-dir', bed.rootDir]);
  const ended = async (child: ChildProcess) => ((await once(child, 'close')) as [number])[0];
  const words = ['--', 'sh', '-c', `cat ${path} & cat ${path} >&2; wait; exit 7`];
  const exec = spawn(process.execPath, [
    BIN,
    'exec',
    '--root-dir',
    bed.rootDir,
    '-q',
    'web',
    '-c',
    'side',
    ...words,
  ]);
  const attach = begin('attach', '-i', '-q', 'web', '-c', 'main');
  const logs = begin('logs', '-f', 'web', '-c', 'main');
  const codes = Promise.all([exec, attach, logs].map(ended));
  attach.stdin.write('go\n');
  const outputs = [exec.stdout, exec.stderr, attach.stdout, logs.stdout];
  expect(await Promise.all(outputs.map((stream) => readSlowly(stream, 3)))).toEqual([
    whole,
    whole,
    whole,
    whole,
  ]);
  expect(await codes).toEqual([7, 0, 0]);
});

test('delete ends a pod, which stays ended over a restart of the daemon, until its manifest changes', async () => {
  const first = await bed.startToLeavePods();
  const pod = await first.running('web');
  expect(await run('delete', 'web', '--grace-period', '1')).toMatchObject({
    code: 0,
    stdout:
      'pod "web-node-a" deleted from default namespace; it starts again when its manifest changes, in the folder or URL of static pods\n',
  });
  expect(mainProcesses(pod)).toEqual([]);
  expect((await run('pods')).stdout).toMatch(/web-node-a +0\/1 +Deleted .* Terminated\.Finished\n/);
  await first.end();
  const second = await bed.start();
  await second.inState('web', 'Terminated.Finished');
  expect(mainProcesses(pod)).toEqual([]);
  writeFileSync(file(WEB), web('exec sleep 2000'));
  const again = await second.running('web');
  expect(again.metadata.uid).not.toBe(pod.metadata.uid);
});

test('events, top and completion show the pod', async () => {
  const daemon = await bed.start();
  await daemon.running('web');
  const events = await run('events', '--for', 'pod/web');
  expect(events.stdout).toMatch(/^NAMESPACE .*\n(?:default .* Pod\/web-node-a .*\n)+$/);
  expect(events.stdout).toMatch(/ Created .* main: Container created\n/);
  expect(events.stdout).toContain('Started');
  expect((await run('top', 'pods', 'web', '--no-headers')).stdout).toMatch(
    /^default +web-node-a +\d+m +\d+Mi\n$/,
  );
  expect((await run('top', 'node')).stdout).toMatch(/^NAME .*\nnode-a +\d+m +\d+% +\d+Mi +\d+%\n$/);
  expect(await completions(bed.rootDir, 'exec', 'w')).toBe('web-node-a\tRunning\n');
});

test('the daemon stops while a client is connected, and the client says so', async () => {
  const daemon = await bed.start();
  await daemon.running('web');
  const started = join(bed.dir, 'started');
  const client = run('exec', 'web', '--', 'sh', '-c', `touch ${started}; exec sleep 1000`);
  await waitFor(() => existsSync(started), { what: 'the command to start' });
  expect(await daemon.end()).toBe(0);
  expect((await client).code).not.toBe(0);
});
