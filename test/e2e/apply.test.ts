/** `statelet apply`, `get` and `delete` as kubectl's hands type them, on a folder of ordinary pods. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { DaemonBed, mainProcesses, startStatelet, statelet } from '../support/daemon.ts';
import { waitFor } from '../support/wait-for.ts';
import { manifest, shell } from './manifests.ts';

let bed: DaemonBed;
let folder: string;
const run = (command: string, ...args: string[]) => statelet(command, '--root-dir', bed.rootDir, ...args);
const web = (words = 'exec sleep 1000') => manifest('web', { containers: [shell(words)] });

function file(name: string, text: string): string {
  const path = join(bed.dir, name);
  writeFileSync(path, text);
  return path;
}

beforeEach(() => {
  bed = new DaemonBed();
  folder = join(bed.dir, 'applied');
  mkdirSync(folder);
});
afterEach(async () => bed.cleanUp());

test('a pod is created, unchanged, configured and deleted, and each command sees what the one before has done', async () => {
  const daemon = await bed.run(['--pods', folder, '--exit-with-pods']);
  const path = file('web.json', web());
  expect(await run('apply', '-f', path)).toEqual({ code: 0, stdout: 'pod/web created\n', stderr: '' });
  expect((await run('get', 'pods')).stdout).toMatch(/^NAME .*\nweb +[01]\/1 /u);
  const first = await daemon.running('web');
  expect(readFileSync(join(folder, 'pod_default_web.yaml'), 'utf8')).toBe(web());
  expect((await run('apply', '-f', path)).stdout).toBe('pod/web unchanged\n');
  writeFileSync(path, web('exec sleep 2000'));
  expect((await run('apply', '-f', path)).stdout).toBe('pod/web configured\n');
  // The pod of the former manifest ends first.
  await waitFor(async () => (await run('get', 'pod/web', '-o', 'json')).stdout.includes('sleep 2000'), {
    what: 'the changed pod',
  });
  expect(mainProcesses(first)).toEqual([]);
  expect((await run('delete', 'pod', 'web')).stdout).toBe('pod "web" deleted from default namespace\n');
  expect(readdirSync(folder)).toEqual([]);
  expect(await run('get', 'pods')).toEqual({
    code: 0,
    stdout: '',
    stderr: 'No resources found in default namespace.\n',
  });
  expect((await run('apply', '-f', path)).stdout).toBe('pod/web created\n');
  await daemon.running('web');
});

test('a watch shows the pods that come and go', async () => {
  await bed.run(['--pods', folder, '--exit-with-pods']);
  const watch = startStatelet('get', 'pods', '-w', '--root-dir', bed.rootDir);
  let shown = '';
  watch.child.stdout?.on('data', (text: string) => (shown += text));
  const slow = manifest('web', {
    terminationGracePeriodSeconds: 1,
    containers: [shell("trap '' TERM; sleep 1000")],
  });
  await run('apply', '-f', file('web.json', slow));
  await waitFor(() => /^NAME .*\n(?:web .*\n)*web +1\/1 +Running/u.test(shown), { what: 'the pod to run' });
  await run('delete', 'pod/web');
  await waitFor(() => /\nweb +[01]\/1 +Terminating /u.test(shown), { what: 'the pod to end' });
  watch.child.kill('SIGINT');
  await watch.result;
});

test('a pod whose manifest apply has not written is left alone, and a wrong manifest is not written', async () => {
  writeFileSync(join(folder, 'mine.json'), web());
  const daemon = await bed.run(['--pods', folder, '--exit-with-pods']);
  await daemon.running('web');
  const path = file(
    'both.yaml',
    `${web('exec sleep 2')}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: x}\n`,
  );
  const { code, stdout, stderr } = await run('apply', '-f', path);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain(
    `both.yaml, document 1: pod default/web has a manifest that apply has not written, in ${folder}`,
  );
  expect(stderr).toContain('both.yaml, document 2: spec: is required');
  expect(readdirSync(folder)).toEqual(['mine.json']);
  expect((await run('delete', 'web')).stdout).toBe(
    `pod "web" deleted from default namespace; it starts again when its manifest changes, in ${folder}\n`,
  );
  expect(existsSync(join(folder, 'mine.json'))).toBe(true);
});
