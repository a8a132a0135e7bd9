import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { RequestGate } from '../../../src/hollow/cluster/request-gate.ts';
import { Resizer } from '../../../src/hollow/cluster/resizer.ts';
import { parseHollowPlan } from '../../../src/hollow/plan/hollow-plan.ts';
import { NO_API_FAULTS } from '../../../src/simulation/api/api-faults.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../../src/types/kubernetes.ts';
import { ApiBed } from '../../simulation/api/api-bed.ts';
import { silentLogger } from '../../support/silent-logger.ts';

const CLAIMS = { resource: 'persistentvolumeclaims', namespace: 'default' } as const;
const VOLUMES = { resource: 'persistentvolumes' } as const;

describe('claims that ask for more', () => {
  let bed: ApiBed;
  let chance: number;
  let resizer: Resizer;

  beforeEach(() => {
    bed = new ApiBed();
    chance = 0.5;
    const { csiDrivers: drivers } = parseHollowPlan(
      `csiDrivers:
        - { name: disks, callFailures: 0.3, calls: { ControllerExpandVolume: 2s } }
        - { name: others, resizer: false }`,
      'plan.yaml',
    );
    resizer = new Resizer(
      { clock: bed.clock, random: () => 0, logger: silentLogger },
      { api: bed.admin, gate: new RequestGate(), drivers, random: () => chance },
    );
  });
  afterEach(() => resizer.close());

  interface Made {
    readonly driver?: string;
    readonly size?: string;
    readonly volumeMode?: 'Block';
    readonly status?: PersistentVolumeClaim['status'];
  }
  const create = (name: string, { driver = 'disks', size = '2Gi', volumeMode, status }: Made = {}) => {
    const { operations } = bed.server;
    operations.create(VOLUMES, {
      metadata: { name: `pv-${name}` },
      ...{ spec: { volumeMode, capacity: { storage: '1Gi' }, csi: { driver, volumeHandle: name } } },
    });
    operations.create(CLAIMS, {
      metadata: { name, namespace: 'default' },
      ...{
        spec: { volumeName: `pv-${name}`, resources: { requests: { storage: size } } },
        status: { phase: 'Bound', capacity: { storage: '1Gi' }, ...status },
      },
    });
  };
  const ask = (name: string, storage: string) =>
    bed.settle(bed.admin.patch({ ...CLAIMS, name }, { spec: { resources: { requests: { storage } } } }));
  const read = (name: string) => {
    const { store } = bed.server;
    const claim = store.get('persistentvolumeclaims', { name, namespace: 'default' });
    const volume = store.get('persistentvolumes', { name: `pv-${name}` });
    return {
      status: (claim as PersistentVolumeClaim | undefined)?.status,
      capacity: (volume as PersistentVolume | undefined)?.spec?.capacity?.storage,
    };
  };
  const stateOf = (name: string) => read(name).status?.allocatedResourceStatuses?.storage;
  const conditionsOf = (name: string) => read(name).status?.conditions?.map(({ type }) => type);

  test('get a larger volume in the time of the plan, and then wait for the node', async () => {
    create('one');
    await bed.clock.advance(1_500);
    expect(read('one')).toMatchObject({
      capacity: '1Gi',
      status: {
        allocatedResources: { storage: '2Gi' },
        allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
      },
    });
    expect(conditionsOf('one')).toEqual(['Resizing']);
    await bed.clock.advance(2_000);
    expect(read('one')).toMatchObject({
      capacity: '2Gi',
      status: {
        capacity: { storage: '1Gi' },
        allocatedResourceStatuses: { storage: 'NodeResizePending' },
      },
    });
    expect(conditionsOf('one')).toEqual(['FileSystemResizePending']);
    const writes = () => bed.ended.filter((request) => request.startsWith('patch'));
    expect(writes()).toHaveLength(3);
    await bed.clock.advance(600_000);
    expect(writes()).toHaveLength(3);
  });

  test('of a block device do not wait for the node', async () => {
    create('one', { volumeMode: 'Block' });
    await bed.clock.advance(3_500);
    expect(read('one')).toMatchObject({ capacity: '2Gi', status: { capacity: { storage: '2Gi' } } });
    expect([stateOf('one'), conditionsOf('one')]).toEqual([undefined, []]);
    await ask('one', '3Gi');
    await bed.clock.advance(10_000);
    expect(read('one')).toMatchObject({ capacity: '3Gi', status: { capacity: { storage: '3Gi' } } });
  });

  test('are expanded once more where they ask for more meanwhile', async () => {
    create('one');
    await bed.clock.advance(1_500);
    await ask('one', '3Gi');
    await bed.clock.advance(10_000);
    expect(read('one')).toMatchObject({
      capacity: '3Gi',
      status: { allocatedResources: { storage: '3Gi' } },
    });
  });

  test('of other drivers, of drivers with a resizer of their own, and without a volume, stay as they are', async () => {
    create('unknown', { driver: 'unknown' });
    create('own', { driver: 'others' });
    create('enough', { size: '1Gi' });
    create('pending', { status: { phase: 'Pending' } });
    await bed.clock.advance(60_000);
    expect(['unknown', 'own', 'enough', 'pending'].map((name) => read(name).capacity)).toEqual(
      Array.from({ length: 4 }, () => '1Gi'),
    );
    expect(bed.ended.filter((request) => request.startsWith('patch'))).toEqual([]);
  });

  test('are tried again after a failure by plan', async () => {
    chance = 0;
    create('one');
    await bed.clock.advance(3_500);
    expect([read('one').capacity, stateOf('one')]).toEqual(['1Gi', 'ControllerResizeInProgress']);
    chance = 0.5;
    await bed.clock.advance(30_000);
    expect([read('one').capacity, stateOf('one')]).toEqual(['2Gi', 'NodeResizePending']);
  });

  test('are expanded once the API server answers again', async () => {
    create('one');
    await bed.clock.advance(1_500);
    bed.faults = { ...NO_API_FAULTS, fail: 1 };
    await bed.clock.advance(10_000);
    expect(read('one').capacity).toBe('1Gi');
    bed.faults = NO_API_FAULTS;
    await bed.clock.advance(60_000);
    expect([read('one').capacity, stateOf('one')]).toEqual(['2Gi', 'NodeResizePending']);
  });

  test('go to the node again where it has refused the size', async () => {
    create('one', {
      status: {
        allocatedResources: { storage: '2Gi' },
        allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' },
      },
    });
    await bed.clock.advance(10_000);
    expect(stateOf('one')).toBe('NodeResizePending');
  });

  test('are not expanded any more once they are deleted', async () => {
    create('one');
    await bed.clock.advance(1_500);
    bed.server.operations.delete({ ...CLAIMS, name: 'one' });
    await bed.clock.advance(60_000);
    expect(read('one').capacity).toBe('1Gi');
  });
});
