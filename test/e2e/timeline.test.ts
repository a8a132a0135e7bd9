/** `statelet timeline`, `replay` and `record export` read what a daemon has recorded, also after its death. */
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { DaemonBed, startStatelet, statelet } from '../support/daemon.ts';
import { waitFor } from '../support/wait-for.ts';
import { put } from '../agent/sources/support.ts';
import { manifest, SERVE, shell } from './manifests.ts';

let bed: DaemonBed;
beforeEach(() => {
  bed = new DaemonBed();
});
afterEach(async () => bed.cleanUp());

const SECRET = 'hunter2-of-the-test';
const file = (name: string) => join(bed.manifestDir, name);
const folder = () => join(bed.rootDir, 'record');
const timeline = (...args: string[]) => statelet('timeline', '--root-dir', bed.rootDir, ...args);

/** Without times and UIDs. */
function plain(text: string): string[] {
  return text
    .trim()
    .split('\n')
    .map((line) => line.replace(/^\S+ +/u, '').replace(/UID \S+|process \d+|statelet \S+/gu, '…'))
    .map((line) => line.replaceAll(/ {2,}/gu, '  '));
}

test('a pod’s way to its start and to its end, read after kill -9 and by a daemon that follows', async () => {
  const env = [{ name: 'PASSWORD', value: SECRET }];
  await put(file('web.json'), manifest('web', { containers: [shell(SERVE, { env })] }));
  const first = await bed.startToLeavePods();
  await first.running('web');
  await waitFor(async () => (await timeline('web')).stdout.includes('→ Syncing.Settled'), {
    what: 'the record of the start',
    pauseMs: 100,
  });
  await first.end('SIGKILL');

  const dead = await timeline('web');
  expect(dead.stderr).toBe('');
  expect(plain(dead.stdout).slice(0, 7)).toEqual([
    '--- … records, …, node node-a',
    '--- pod default/web-node-a, …',
    'pod  SyncPodCreate  Syncing.Starting.New → Syncing.Starting.AwaitingRuntime / recordUpdate, awaitRuntime',
    'pod  RUNTIME_READY  Syncing.Starting.AwaitingRuntime → Syncing.Starting.AwaitingRemoval / forgetDelay, awaitRemoval',
    'pod  REMOVED  Syncing.Starting.AwaitingRemoval → Syncing.Starting.AwaitingName [isOfManifest] / forgetDelay, requestName',
    'pod  NAME_GRANTED  Syncing.Starting.AwaitingName → Syncing.Starting.Admitting / forgetDelay, requestRoom',
    'pod  ADMITTED  Syncing.Starting.Admitting → Syncing.Working / forgetDelay, reportAdmitted, clearUpdatePending, startSync',
  ]);
  expect((await timeline('web', '--since', '0s')).stderr).toMatch(
    /has nothing of that time about a pod "web"/,
  );
  expect((await timeline()).stdout).toMatch(/ supervisor {2}CONFIG\.ADD /);

  const followed = startStatelet('timeline', '--root-dir', bed.rootDir, 'web', '--follow');
  let seen = '';
  followed.child.stdout?.on('data', (text: string) => (seen += text));
  const second = await bed.start();
  await second.running('web');
  rmSync(file('web.json'));
  await waitFor(() => seen.includes('→ Terminated.Finished'), { what: 'the end of the pod' });
  followed.child.kill();
  await followed.result;
  expect(seen.match(/ records, process /gu)).toHaveLength(2);

  const asJSON = (await timeline('default/web-node-a', '-o', 'json')).stdout.trim().split('\n');
  const last = asJSON.map((line) => JSON.parse(line) as Record<string, unknown>).at(-1);
  expect(last).toMatchObject({ type: 'transition', chart: 'pod', to: 'Terminated.Finished' });
  expect(last?.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

  const replayed = await statelet('replay', folder());
  expect(replayed.stderr).toBe('');
  expect(replayed).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/transitions: no difference\n$/u),
  });
  const exported = join(bed.rootDir, 'web.record');
  const args = ['export', 'web', '--root-dir', bed.rootDir, '-o', exported];
  expect((await statelet('record', ...args)).stdout).toMatch(
    /web\.record\n\d+ transitions, \d+ of them of charts of the node that name the pod, without values /u,
  );
  expect(readFileSync(exported, 'utf8')).not.toContain(SECRET);
  expect((await statelet('replay', exported, 'web')).stdout).toMatch(
    /^1 actor, \d+ transitions: no difference\n$/u,
  );

  const bytes = readdirSync(folder()).map((name) => readFileSync(join(folder(), name), 'utf8'));
  expect(bytes.join('')).not.toContain(SECRET);
  expect(bytes.join('')).not.toContain('PASSWORD');
  expect(statSync(folder()).mode & 0o777).toBe(0o700);
});

test('a daemon without the recorder leaves no record', async () => {
  const daemon = await bed.start('--flight-recorder-size', '0');
  await daemon.end();
  expect(readdirSync(bed.rootDir)).not.toContain('record');
  expect(await timeline()).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('nothing is recorded: there is no '),
  });
});
