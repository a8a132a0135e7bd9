import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { ImageRecords } from '../../../../src/agent/runtime/images/image-records.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import type { Image } from '../../../../src/types/cri.ts';
import type { VerificationPolicy } from '../../../../src/types/node-settings.ts';
import { RecordedMeasurements } from '../../../support/recorded-measurements.ts';
import { warnings } from '../../../support/warnings.ts';
import { testContext } from '../../../support/test-context.ts';

const IMAGE = 'quay.io/app:1';
const ID = 'sha256:1234';
const secret = (name: string, credentialHash = 'hash') => ({
  secret: { uid: `uid of ${name}`, namespace: 'default', name, credentialHash },
});

let rootDir: string;
let images: Image[];
let clock: VirtualClock;
let log: ReturnType<typeof warnings>;
let measurements: RecordedMeasurements;

beforeEach(() => {
  rootDir = mkdtempSync(join(tmpdir(), 'statelet-records-'));
  images = [];
  clock = new VirtualClock();
  log = warnings();
  measurements = new RecordedMeasurements();
});
afterEach(() => rmSync(rootDir, { recursive: true }));

/** As a new agent has them. */
const open = (policy: VerificationPolicy = 'NeverVerifyPreloadedImages') =>
  new ImageRecords(
    testContext({ clock, measurements, logger: log.logger }),
    { listImages: () => Promise.resolve(images) },
    rootDir,
    { policy, allowlist: ['quay.io/free/*'] },
  );
const folder = (name: string) => join(rootDir, 'image_manager', name);
const names = (name: string) => readdirSync(folder(name));
const nameOf = (image: string) => `sha256-${createHash('sha256').update(image).digest('hex')}`;
const pull = async (records: ImageRecords, source?: Parameters<ImageRecords['pulled']>[2], image = IMAGE) => {
  await records.begin(image);
  await records.pulled(image, ID, source);
  await records.end(image);
};
const mayUse = (records: ImageRecords, ...sources: Parameters<ImageRecords['pulled']>[2][]) =>
  records.mayUse(IMAGE, ID, () =>
    Promise.resolve(sources.map((source) => ({ auth: {}, ...(source && { source }) }))),
  );

test('a pull leaves the files of the kubelet, which only the owner may read', async () => {
  const records = open();
  await records.begin(IMAGE);
  expect(names('pulling')).toEqual([nameOf(IMAGE)]);
  expect(readFileSync(join(folder('pulling'), nameOf(IMAGE)), 'utf8')).toBe(
    `{"kind":"ImagePullIntent","apiVersion":"kubelet.config.k8s.io/v1beta1","image":"${IMAGE}"}\n`,
  );
  await records.pulled(IMAGE, ID, secret('good'));
  await records.end(IMAGE);
  expect(names('pulling')).toEqual([]);
  const file = join(folder('pulled'), nameOf(ID));
  expect(readFileSync(file, 'utf8')).toBe(
    `{"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1beta1","lastUpdatedTime":"2030-01-01T00:00:00Z","imageRef":"${ID}","credentialMapping":{"quay.io/app":{"kubernetesSecrets":[{"uid":"uid of good","namespace":"default","name":"good","credentialHash":"hash"}]}}}\n`,
  );
  expect([statSync(file).mode & 0o777, statSync(folder('pulled')).mode & 0o777]).toEqual([0o600, 0o700]);
});

test('an intent stays until the last pod that waits for the image has it', async () => {
  const records = open();
  await Promise.all([records.begin(IMAGE), records.begin(IMAGE)]);
  await records.end(IMAGE);
  expect(names('pulling')).toHaveLength(1);
  await records.end(IMAGE);
  expect(names('pulling')).toEqual([]);
});

describe('an image that is present', () => {
  test('is for the pods that have its credentials, also after the agent was started again', async () => {
    await pull(open(), secret('good'));
    for (const records of [open(), open('AlwaysVerify')]) {
      expect(await mayUse(records, secret('good'))).toBe(true);
      expect(await mayUse(records, undefined, secret('bad', 'other'))).toBe(false);
      expect(await mayUse(records)).toBe(false);
    }
    expect(await mayUse(open('NeverVerify'))).toBe(true);
  });

  test('is for all pods if it was pulled without credentials, and theirs are not looked up', async () => {
    const records = open();
    await pull(records);
    const never = () => Promise.reject(new Error('not needed'));
    expect(await records.mayUse(IMAGE, ID, never)).toBe(true);
  });

  test('is not for all pods under a name under which it was not pulled', async () => {
    const records = open();
    await pull(records);
    expect(await records.mayUse('quay.io/other:1', ID, () => Promise.resolve([]))).toBe(false);
  });

  test('is for all pods if this node has not pulled it, unless the policy is stricter', async () => {
    expect(await mayUse(open())).toBe(true);
    expect(await mayUse(open('NeverVerify'))).toBe(true);
    expect(await mayUse(open('AlwaysVerify'))).toBe(false);
    const listed = open('NeverVerifyAllowlistedImages');
    expect(await mayUse(listed)).toBe(false);
    expect(await listed.mayUse('quay.io/free/app:1', ID, () => Promise.resolve([]))).toBe(true);
  });

  test('is not for all pods while it is being pulled', async () => {
    const records = open();
    await records.begin(IMAGE);
    expect(await mayUse(records)).toBe(false);
  });

  test('the same credentials in another Secret are recorded', async () => {
    const records = open();
    await pull(records, secret('good'));
    expect(await mayUse(records, secret('copy'))).toBe(true);
    expect(await mayUse(open(), secret('copy', 'changed'))).toBe(true);
  });
});

describe('the agent was ended during a pull', () => {
  test('and the image is there: the next pod has to show credentials, and the intent is gone', async () => {
    await open().begin('busybox');
    images = [{ id: ID, repoTags: ['docker.io/library/busybox:latest'], size: 1 }];
    const records = open();
    expect(await records.mayUse('busybox', ID, () => Promise.resolve([]))).toBe(false);
    expect(names('pulling')).toEqual([]);
    expect(names('pulled')).toEqual([nameOf(ID)]);
  });

  test('and the image is not there: the intent stays until a pull has ended', async () => {
    await open().begin(IMAGE);
    const records = open();
    expect(await mayUse(records)).toBe(false);
    expect(names('pulling')).toHaveLength(1);
    await pull(records);
    expect(names('pulling')).toEqual([]);
  });

  test('and the image, which had a record, is there: its credentials still count', async () => {
    const before = open();
    await pull(before, secret('good'));
    await before.begin(IMAGE);
    images = [{ id: ID, repoTags: [IMAGE], size: 1 }];
    const records = open();
    expect(await mayUse(records, secret('good'))).toBe(true);
    expect(names('pulling')).toEqual([]);
  });

  test('and the runtime does not answer: the intent counts', async () => {
    await open().begin(IMAGE);
    const away = { listImages: () => Promise.reject(new Error('away')) };
    const verification = { policy: 'NeverVerifyPreloadedImages', allowlist: [] } as const;
    const records = new ImageRecords(testContext({ clock }), away, rootDir, verification);
    expect(await mayUse(records)).toBe(false);
  });
});

describe('a file that is no record', () => {
  test('has the next pod show credentials, and is replaced by the next pull', async () => {
    await pull(open());
    writeFileSync(join(folder('pulled'), nameOf(ID)), '{');
    const records = open();
    expect(await mayUse(records)).toBe(false);
    expect(log.messages).toEqual([expect.stringContaining(`${nameOf(ID)}: is no record of a pull`)]);
    await pull(records);
    expect(await mayUse(records)).toBe(true);
    expect(await mayUse(open())).toBe(true);
  });

  test('a draft of a write that was cut off is not read', async () => {
    await pull(open());
    writeFileSync(join(folder('pulled'), `${nameOf('other')}.tmp`), '{');
    expect(await mayUse(open())).toBe(true);
    expect(log.messages).toEqual([]);
  });
});

test('a record that cannot be written leaves the intent, and the image stays usable for its pod', async () => {
  const records = open();
  await records.begin(IMAGE);
  writeFileSync(folder('pulled'), 'a file in place of the folder');
  expect(await records.pulled(IMAGE, ID, secret('good'))).toBe(false);
  expect(log.messages).toEqual([expect.stringContaining('failed to write image pulled record')]);
  expect(names('pulling')).toHaveLength(1);
  expect(await mayUse(records, secret('good'))).toBe(true);
});

test('an intent that cannot be written keeps the pull from beginning', async () => {
  writeFileSync(join(rootDir, 'image_manager'), 'a file in place of the folder');
  await expect(open().begin(IMAGE)).rejects.toThrow('ENOTDIR');
});

test('records of images that are gone are removed, but not those of images that came after the list', async () => {
  const records = open();
  await pull(records);
  await clock.advance(60_000);
  const listedAt = clock.now();
  await clock.advance(500);
  await records.pulled('quay.io/new:1', 'sha256:new', undefined);
  await records.prune([ID], listedAt);
  expect(names('pulled').sort()).toEqual([nameOf(ID), nameOf('sha256:new')].sort());
  await records.prune([], listedAt);
  expect(names('pulled')).toEqual([nameOf('sha256:new')]);
});

test('the files on the disk are counted, and so are checks by what comes of them', async () => {
  const records = open();
  await pull(records, secret('good'));
  expect(measurements.told.filter((line) => line.startsWith('records'))).toEqual([
    'records: 0 pulling, 0 pulled',
    'records: 0 pulling, 0 pulled',
    'records: 1 pulling, 0 pulled',
    'records: 1 pulling, 1 pulled',
    'records: 0 pulling, 1 pulled',
  ]);
  await mayUse(records, secret('good'));
  await mayUse(records, secret('bad', 'another hash'));
  await mayUse(open('NeverVerify'));
  expect(measurements.told.filter((line) => line.startsWith('pull check'))).toEqual([
    'pull check: credentialRecordFound',
    'pull check: mustAuthenticate',
    'pull check: credentialPolicyAllowed',
  ]);
  const failing = records.mayUse(IMAGE, ID, () => Promise.reject(new Error('no secrets')));
  await expect(failing).rejects.toThrow('no secrets');
  expect(measurements.told.at(-1)).toBe('pull check: error');
});

test('an agent that starts counts the files that it finds', async () => {
  await pull(open(), secret('good'));
  measurements.told.splice(0);
  await mayUse(open(), secret('good'));
  expect(measurements.told).toContain('records: 0 pulling, 1 pulled');
});
