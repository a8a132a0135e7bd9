/** The double of a CSI driver follows the rules of csi-sanity for the node service of a driver, so that tests with it apply to real drivers. */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { CsiDriver } from '../../src/agent/runtime/volumes/csi/csi-driver.ts';
import type { PublishRequest } from '../../src/agent/runtime/volumes/csi/csi-messages.ts';
import { NEVER_ABORTED } from '../../src/system/promises.ts';
import { systemClock } from '../../src/system/timer.ts';
import { describeAsRoot } from '../agent/runtime/volumes/bed.ts';
import { mountsOf, TestCsiDriver } from './test-csi-driver.ts';

const CAPABILITIES = ['STAGE_UNSTAGE_VOLUME', 'GET_VOLUME_STATS', 'EXPAND_VOLUME'] as const;

let dir: string;
let double: TestCsiDriver;
let driver: CsiDriver;
let request: PublishRequest;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-sanity-'));
  const storage = join(dir, 'storage');
  double = new TestCsiDriver({
    name: 'disk.csi.test',
    registryDir: dir,
    storage,
    capabilities: CAPABILITIES,
  });
  await double.listen();
  const socket = { name: 'disk.csi.test', endpoint: double.endpoint, version: '1.0.0' };
  driver = new CsiDriver({ clock: systemClock }, socket);
  const [stagingPath, targetPath] = [join(dir, 'staging'), join(dir, 'pod', 'target')];
  for (const folder of [stagingPath, join(dir, 'pod'), join(storage, 'vol-1')])
    mkdirSync(folder, { recursive: true });
  request = {
    volumeId: 'vol-1',
    publishContext: {},
    stagingPath,
    targetPath,
    readonly: false,
    capability: {
      block: undefined,
      mount: { fsType: '', mountFlags: [], volumeMountGroup: '' },
      accessMode: { mode: 'SINGLE_NODE_WRITER' },
    },
    secrets: {},
    volumeContext: {},
  };
});
afterEach(async () => {
  await driver.unpublish('vol-1', request.targetPath);
  await driver.unstage('vol-1', request.stagingPath, NEVER_ABORTED);
  driver.close();
  double.kill();
  rmSync(dir, { recursive: true });
});

const stage = () => driver.stage(request, NEVER_ABORTED);
const ask = {
  stage: (own: object) => driver.stage({ ...request, ...own }, NEVER_ABORTED),
  unstage: (own: Partial<PublishRequest>) => {
    const { volumeId, stagingPath } = { ...request, ...own };
    return driver.unstage(volumeId, stagingPath, NEVER_ABORTED);
  },
  publish: (own: object) => driver.publish({ ...request, ...own }),
  unpublish: (own: Partial<PublishRequest>) => {
    const { volumeId, targetPath } = { ...request, ...own };
    return driver.unpublish(volumeId, targetPath);
  },
  stats: (own: Partial<PublishRequest>) => {
    const { volumeId, targetPath } = { ...request, ...own };
    return driver.stats(volumeId, targetPath);
  },
  expand: (own: Partial<PublishRequest>) => {
    const { volumeId, targetPath } = { ...request, ...own };
    const { capability, secrets, stagingPath } = request;
    const range = { requiredBytes: 1 };
    return driver.expand({ volumeId, volumePath: targetPath, range, stagingPath, capability, secrets });
  },
} as const;

describeAsRoot('the double of a CSI driver, as csi-sanity has it,', () => {
  test('says its node and its capabilities', async () => {
    expect((await driver.info(NEVER_ABORTED)).nodeId).not.toBe('');
    expect(await driver.capabilities()).toEqual(new Set(CAPABILITIES));
  });

  test.each<[keyof typeof ask, keyof PublishRequest]>([
    ['stage', 'volumeId'],
    ['stage', 'stagingPath'],
    ['stage', 'capability'],
    ['unstage', 'volumeId'],
    ['unstage', 'stagingPath'],
    ['publish', 'volumeId'],
    ['publish', 'targetPath'],
    ['publish', 'capability'],
    ['unpublish', 'volumeId'],
    ['unpublish', 'targetPath'],
    ['stats', 'volumeId'],
    ['stats', 'targetPath'],
    ['expand', 'volumeId'],
    ['expand', 'targetPath'],
  ])('refuses to %s without %s', async (call, field) => {
    const without = { [field]: field === 'capability' ? undefined : '' };
    await expect(ask[call](without)).rejects.toMatchObject({ kind: 'InvalidArgument' });
  });

  test.each(['stats', 'expand'] as const)('does not find what is not published (%s)', async (call) => {
    await expect(ask[call]({})).rejects.toMatchObject({ kind: 'NotFound' });
  });

  test('does once what it is asked twice, removes its target, and undoes what was never done', async () => {
    for (let times = 0; times < 2; times++) {
      await stage();
      await driver.publish(request);
    }
    expect([mountsOf(request.stagingPath), mountsOf(request.targetPath)]).toEqual([1, 1]);
    await ask.expand({});
    await ask.expand({});
    expect(await ask.stats({})).toMatchObject({ capacityBytes: 7 });
    for (let times = 0; times < 2; times++) await ask.unpublish({});
    expect(existsSync(request.targetPath)).toBe(false);
    for (let times = 0; times < 2; times++) await ask.unstage({});
    expect([mountsOf(request.stagingPath), existsSync(request.stagingPath), double.violations]).toEqual([
      0,
      true,
      [],
    ]);
  });
});
