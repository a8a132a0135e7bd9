/** `statelet why` asks a running daemon; where none runs, it reads what the last one has recorded. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { DaemonBed, statelet } from '../support/daemon.ts';
import { waitFor } from '../support/wait-for.ts';
import { put } from '../agent/sources/support.ts';
import { manifest, shell } from './manifests.ts';

let bed: DaemonBed;
beforeEach(() => {
  bed = new DaemonBed();
});
afterEach(async () => bed.cleanUp());

const file = (name: string) => join(bed.manifestDir, name);
const ask = (...args: string[]) => statelet('why', '--root-dir', bed.rootDir, ...args);
const timeline = (...args: string[]) => statelet('timeline', '--root-dir', bed.rootDir, ...args);

async function answer(pod: string, wanted: RegExp): Promise<string> {
  let last = '';
  await waitFor(
    async () => {
      last = (await ask(pod)).stdout;
      return wanted.test(last);
    },
    { what: `the answer ${String(wanted)}`, pauseMs: 100 },
  );
  return last;
}

test('of a pod that runs, one that is started again and again, one that goes, and the node', async () => {
  await put(file('web.json'), manifest('web', { containers: [shell('exec sleep 1000')] }));
  await put(file('loop.json'), manifest('loop', { containers: [shell('exit 3')] }));
  const daemon = await bed.start();
  await daemon.running('web');
  expect(await answer('web', /runs as/)).toBe(
    'default/web-node-a runs as its spec says.\n1 of 1 container runs, 1 is ready.\n',
  );
  expect(await answer('loop', /again/)).toMatch(
    /^default\/loop-node-a waits to start container main again, which .*last ended with exit code 3 \(Error\) at /,
  );
  expect((await ask()).stdout).toMatch(/^Node node-a is ready\.\n2 pods are here/);
  const asJSON = JSON.parse((await ask('web', '-o', 'json')).stdout) as object;
  expect(asJSON).toMatchObject({ subject: 'default/web-node-a', state: 'Syncing.Settled' });
  rmSync(file('web.json'));
  expect(await answer('web-node-a', /web-node-a ended at/)).toMatch(
    /^default\/web-node-a ended at .* ago\): its source does not have it any more\.\nIt does not come back: /,
  );
  expect(JSON.parse((await ask('web', '-o', 'json')).stdout)).toMatchObject({
    subject: 'default/web-node-a',
    state: 'Gone',
    end: { cause: 'Unwanted' },
  });
  expect(await ask('nobody')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('there is no pod "nobody"'),
  });
});

test('without a daemon, from what the last one has recorded', async () => {
  await put(file('web.json'), manifest('web', { containers: [shell('exec sleep 1000')] }));
  await put(file('gone.json'), manifest('gone', { containers: [shell('exec sleep 1000')] }));
  const daemon = await bed.start();
  await daemon.running('web');
  await daemon.running('gone');
  rmSync(file('gone.json'));
  // The record is written some time after the running daemon knows of the end.
  await waitFor(async () => (await timeline('gone')).stdout.includes('→ Terminated'), {
    what: 'the record of the end',
    pauseMs: 100,
  });
  expect(await daemon.end('SIGKILL')).toBe('SIGKILL');
  const [gone, web] = [await ask('gone'), await ask('web')];
  expect(gone.stdout).toMatch(
    /^No daemon runs; this is from its record, which ends at .*\.\ndefault\/gone-node-a ended at .*: its source does not have it any more\./,
  );
  expect(web.stdout).toMatch(/\ndefault\/web-node-a had not been told to end; .* it is as its spec says\.\n/);
  expect(JSON.parse((await ask('web', '-o', 'json')).stdout)).toMatchObject({ state: 'Syncing.Settled' });
  expect(await ask('nobody')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /no daemon runs, and its record in .* has nothing about a pod "nobody" in /,
    ),
  });
  expect(await ask('a/b/c')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('"a/b/c" names no pod'),
  });
  rmSync(join(bed.rootDir, 'record'), { recursive: true });
  expect(await ask('web')).toMatchObject({ code: 1, stderr: expect.stringContaining('is it running?') });
  expect(await ask('node')).toMatchObject({ code: 1, stderr: expect.stringContaining('is it running?') });
});
