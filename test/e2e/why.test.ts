/** `statelet why` asks a running daemon. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { DaemonBed, statelet } from '../support/daemon.ts';
import { waitFor } from '../support/wait-for.ts';
import { put } from '../sources/support.ts';
import { manifest, shell } from './manifests.ts';

let bed: DaemonBed;
beforeEach(() => {
  bed = new DaemonBed();
});
afterEach(async () => bed.cleanUp());

const file = (name: string) => join(bed.manifestDir, name);
const ask = (...args: string[]) => statelet('why', '--root-dir', bed.rootDir, ...args);

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
  expect(await answer('web-node-a', /not on this node/)).toMatch(
    /^default\/web-node-a is not on this node any more\.\nThe last events about it: Killing at /,
  );
  expect(await ask('nobody')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('there is no pod "nobody"'),
  });
});
