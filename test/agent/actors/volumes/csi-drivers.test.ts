/** What the API server is told of CSI drivers, with a driver on a real socket. test/e2e/cluster/csi.test.ts has an API server. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { CsiDrivers } from '../../../../src/agent/actors/volumes/csi-drivers.ts';
import type { RegisteredCsiDriver } from '../../../../src/agent/policies/volumes/csi-registration.ts';
import { CsiDriverRegistry } from '../../../../src/agent/runtime/volumes/csi/csi-driver-registry.ts';
import { settled, VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { NEVER_ABORTED } from '../../../../src/system/promises.ts';
import type { CSIDriver } from '../../../../src/types/kubernetes.ts';
import { TestCsiDriver } from '../../../support/test-csi-driver.ts';
import { testContext } from '../../../support/test-context.ts';
import { waitFor } from '../../../support/wait-for.ts';

const NAME = 'disk.csi.test';

let dir: string;
let driver: TestCsiDriver;
let info: { maxVolumes: number };
let clock: VirtualClock;
let drivers: CsiDrivers;
let object: CSIDriver | undefined;
let told: RegisteredCsiDriver[];
let inits: number;
let hasNode: boolean;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-csi-'));
  info = { maxVolumes: 7 };
  driver = new TestCsiDriver({ name: NAME, registryDir: dir, storage: dir, info });
  await driver.listen();
  clock = new VirtualClock();
  [object, told, inits, hasNode] = [undefined, [], 0, true];
  drivers = new CsiDrivers(testContext({ clock }), {
    drivers: new CsiDriverRegistry(),
    onRegistered: () => undefined,
    csiDriver: () => Promise.resolve(object),
    objects: {
      init: () => {
        inits += 1;
        return hasNode ? Promise.resolve() : Promise.reject(new Error('no Node yet'));
      },
      add: (registered) => {
        told.push(registered);
        return Promise.resolve();
      },
      remove: () => Promise.resolve(),
    },
  });
});
afterEach(() => {
  drivers.stop();
  driver.kill();
  rmSync(dir, { recursive: true });
});

async function registered() {
  const served = drivers.handlers
    .get('CSIPlugin')
    ?.register({ name: NAME, endpoint: driver.endpoint, supportedVersions: ['1.0.0'] });
  expect(await served?.verify?.(NEVER_ABORTED)).toBeUndefined();
  await settled();
  return served;
}
const limits = () => told.map(({ maxVolumes }) => maxVolumes);

test('a driver is asked again how many volumes the node can have, as often as its object says, until it goes', async () => {
  object = { spec: { nodeAllocatableUpdatePeriodSeconds: 60 } };
  const served = await registered();
  info.maxVolumes = 5;
  await clock.advance(59_000);
  expect(limits()).toEqual([7]);
  await clock.advance(1_000);
  await waitFor(() => told.length === 2, { what: 'the driver to be asked again' });
  expect(limits()).toEqual([7, 5]);
  await settled();
  served?.close();
  await settled();
  expect(clock.armed).toBe(0);
});

test('a driver whose object says no period is asked once', async () => {
  object = { spec: {} };
  await registered();
  expect([limits(), clock.armed]).toEqual([[7], 0]);
});

test('there is a CSINode as soon as there is a Node, also without a driver', async () => {
  hasNode = false;
  drivers.start();
  await clock.advance(250);
  expect(inits).toBe(2);
  hasNode = true;
  await clock.advance(10_000);
  expect([inits, clock.armed]).toEqual([3, 0]);
});

test('a driver is asked again at once where the node has reached its limit, and nothing is waited for where it is not there', async () => {
  await registered();
  info.maxVolumes = 3;
  await drivers.refresh(NAME);
  await drivers.refresh('absent.csi.test');
  expect(limits()).toEqual([7, 3]);
});
