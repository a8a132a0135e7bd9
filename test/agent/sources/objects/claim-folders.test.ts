import { existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ClaimFolders } from '../../../../src/agent/sources/objects/claim-folders.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { recordingLogger } from '../../../support/recording-logger.ts';

const DELAY_MS = 60_000;

let dir: string;
let clock: VirtualClock;
let wanted: Set<string>;
let used: Set<string>;
let claims: ClaimFolders;
let log: ReturnType<typeof recordingLogger>;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'statelet-claims-'));
  clock = new VirtualClock();
  wanted = new Set();
  used = new Set();
  log = recordingLogger();
  const usedOnDisk = () => Promise.resolve(used);
  claims = new ClaimFolders({ clock, logger: log.logger }, { folder: join(dir, 'claims'), usedOnDisk });
});

afterEach(async () => {
  claims.close();
  await rm(dir, { recursive: true, force: true });
});

const folder = (claim: string) => join(dir, 'claims', claim);
const keep = () => claims.keep((claim) => wanted.has(claim));
/** Resolves when what was removed by now is gone: folders are made and removed one after another. */
async function afterDelay(ms = DELAY_MS): Promise<void> {
  await clock.advance(ms);
  await claims.make('other/marker');
}

test('a folder is open to every user of a container, below folders that are not', async () => {
  expect(await claims.make('default/data')).toBe(folder('default/data'));
  expect(statSync(folder('default/data')).mode & 0o777).toBe(0o777);
  expect(statSync(folder('default')).mode & 0o007).toBe(0);
  writeFileSync(join(folder('default/data'), 'file'), 'kept');
  await claims.make('default/data');
  expect(readdirSync(folder('default/data'))).toEqual(['file']);
});

describe('a folder', () => {
  beforeEach(async () => {
    await claims.make('default/data');
    writeFileSync(join(folder('default/data'), 'file'), 'kept');
  });

  test('is removed some time after its claim has gone, also one of an earlier agent, with the folder of its namespace', async () => {
    keep();
    await afterDelay(DELAY_MS - 1);
    expect(existsSync(folder('default/data'))).toBe(true);
    await afterDelay(1);
    expect(existsSync(folder('default'))).toBe(false);
    expect(log.lines.map(({ message }) => message)).toContain(
      'removed the folder of the claim default/data: it has no document any more',
    );
  });

  test('stays while its claim is wanted, or is wanted again in time', async () => {
    keep();
    await clock.advance(DELAY_MS - 1);
    wanted.add('default/data');
    await afterDelay();
    expect(existsSync(folder('default/data'))).toBe(true);
  });

  test('stays while a pod of the disk uses it, and goes once that has ended', async () => {
    used.add('default/data');
    keep();
    await afterDelay();
    expect(existsSync(folder('default/data'))).toBe(true);
    used.clear();
    claims.released();
    await afterDelay();
    expect(existsSync(folder('default/data'))).toBe(false);
  });

  test('stays while it is not known which claims there are', async () => {
    keep();
    claims.keep(undefined);
    claims.released();
    await afterDelay(10 * DELAY_MS);
    expect(existsSync(folder('default/data'))).toBe(true);
  });

  test('with links loses them, and not what they lead to', async () => {
    mkdirSync(join(dir, 'precious'));
    writeFileSync(join(dir, 'precious/file'), 'kept');
    symlinkSync(join(dir, 'precious'), join(folder('default/data'), 'link'));
    keep();
    await afterDelay();
    expect(existsSync(folder('default/data'))).toBe(false);
    expect(readdirSync(join(dir, 'precious'))).toEqual(['file']);
  });
});

test('a link in the place of a folder is no claim', async () => {
  await claims.make('default/data');
  mkdirSync(join(dir, 'precious/inner'), { recursive: true });
  symlinkSync(join(dir, 'precious'), join(dir, 'claims/linked'));
  symlinkSync(join(dir, 'precious'), folder('default/linked'));
  wanted.add('default/data');
  keep();
  await afterDelay();
  expect(readdirSync(join(dir, 'precious'))).toEqual(['inner']);
});
