import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { PlannedVolumes } from '../../../src/hollow/cluster/planned-volumes.ts';
import { NO_API_FAULTS } from '../../../src/simulation/api/api-faults.ts';
import { ApiBed } from '../../simulation/api/api-bed.ts';
import { silentLogger } from '../../support/silent-logger.ts';

const GI = 2 ** 30;
const USE = { uses: [0.25], growing: 0, bytesPerSecond: 0 };

describe('volumes of the drivers of a plan', () => {
  let bed: ApiBed;
  let volumes: PlannedVolumes;

  beforeEach(() => {
    bed = new ApiBed();
  });
  afterEach(() => volumes.close());

  const open = (use = USE) => {
    volumes = new PlannedVolumes(
      { clock: bed.clock, random: () => 0, logger: silentLogger },
      { api: bed.admin, drivers: ['disks'], use, random: () => 0.5 },
    );
    return volumes.of('disks');
  };
  const create = (name: string, driver = 'disks', storage = '4Gi', volumeMode?: 'Block') =>
    bed.server.operations.create(
      { resource: 'persistentvolumes' },
      {
        metadata: { name },
        ...{ spec: { volumeMode, capacity: { storage }, csi: { driver, volumeHandle: `handle-${name}` } } },
      },
    );
  const bytes = (usage: ReturnType<ReturnType<typeof open>['usage']>) =>
    usage?.find(({ unit }) => unit === 'BYTES');

  test('are as large as their PersistentVolumes, and used by plan', async () => {
    create('one');
    const disks = open();
    create('two', 'disks', '8Gi');
    await bed.clock.advance(1_000);
    expect(disks.usage('handle-one')).toEqual([
      { unit: 'BYTES', total: 4 * GI, used: GI, available: 3 * GI },
      { unit: 'INODES', total: (4 * GI) / 16_384, used: 1_025, available: (4 * GI) / 16_384 - 1_025 },
    ]);
    expect(bytes(disks.usage('handle-two'))).toMatchObject({ total: 8 * GI, used: 2 * GI });
  });

  test('that are block devices have a size alone, and a larger one as soon as they are expanded', async () => {
    create('one', 'disks', '4Gi', 'Block');
    const disks = open();
    await bed.clock.advance(1_000);
    expect(disks.usage('handle-one')).toEqual([{ unit: 'BYTES', total: 4 * GI, used: 0, available: 0 }]);
    const target = { resource: 'persistentvolumes', name: 'one' } as const;
    await bed.settle(bed.admin.patch(target, { spec: { capacity: { storage: '6Gi' } } }));
    await bed.clock.advance(1_000);
    expect(bytes(disks.usage('handle-one'))).toMatchObject({ total: 6 * GI });
  });

  test('of other drivers, and those that are deleted, are not known', async () => {
    create('one');
    create('other', 'others');
    const disks = open();
    await bed.clock.advance(1_000);
    expect(disks.usage('handle-other')).toBeUndefined();
    expect(volumes.of('others').usage('handle-other')).toBeUndefined();
    bed.server.operations.delete({ resource: 'persistentvolumes', name: 'one' });
    await bed.clock.advance(1_000);
    expect(disks.usage('handle-one')).toBeUndefined();
  });

  test('that are deleted while the API server does not answer for hours are not known afterwards', async () => {
    create('one');
    create('two');
    const disks = open();
    await bed.clock.advance(1_000);
    bed.faults = { ...NO_API_FAULTS, fail: 1 };
    await bed.clock.advance(7_200_000);
    bed.server.operations.delete({ resource: 'persistentvolumes', name: 'one' });
    bed.faults = NO_API_FAULTS;
    await bed.clock.advance(120_000);
    expect([disks.usage('handle-one'), bytes(disks.usage('handle-two'))?.used]).toEqual([undefined, GI]);
  });

  test('become full, and no fuller', async () => {
    create('one');
    const disks = open({ uses: [0.5], growing: 1, bytesPerSecond: GI / 10 });
    await bed.clock.advance(10_000);
    const early = bytes(disks.usage('handle-one'));
    expect(early?.used).toBeGreaterThan(2 * GI);
    expect(early?.used).toBeLessThan(3 * GI);
    await bed.clock.advance(120_000);
    expect(bytes(disks.usage('handle-one'))).toEqual({
      unit: 'BYTES',
      total: 4 * GI,
      used: 4 * GI,
      available: 0,
    });
  });

  test('have a larger file system once a node has expanded it', async () => {
    create('one');
    const disks = open();
    await bed.clock.advance(1_000);
    const target = { resource: 'persistentvolumes', name: 'one' } as const;
    await bed.settle(bed.admin.patch(target, { spec: { capacity: { storage: '6Gi' } } }));
    await bed.clock.advance(1_000);
    expect(bytes(disks.usage('handle-one'))).toMatchObject({ total: 4 * GI });
    disks.expand('handle-one', 6 * GI);
    expect(bytes(disks.usage('handle-one'))).toMatchObject({ total: 6 * GI, used: GI });
  });
});
