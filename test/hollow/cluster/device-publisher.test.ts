import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { watchNode } from '../../../src/agent/cluster/watches/watched-object.ts';
import { DevicePublisher } from '../../../src/hollow/cluster/device-publisher.ts';
import { parseHollowPlan } from '../../../src/hollow/plan/hollow-plan.ts';
import { NO_API_FAULTS } from '../../../src/simulation/api/api-faults.ts';
import type { ResourceSlice } from '../../../src/types/kubernetes.ts';
import { ApiBed, NODE, nodeObject } from '../../simulation/api/api-bed.ts';
import { silentLogger } from '../../support/silent-logger.ts';

const SLICES = { resource: 'resourceslices' } as const;
const NAME = `${NODE}-gpus.dra.test`;

describe('devices of a driver', () => {
  let bed: ApiBed;
  let publisher: DevicePublisher | undefined;

  beforeEach(() => {
    bed = new ApiBed();
  });
  afterEach(() => publisher?.stop());

  const publish = (devices: number) => {
    const { draDrivers: drivers } = parseHollowPlan(
      `draDrivers: [{ name: gpus.dra.test, devices: ${String(devices)} }]`,
      'plan.yaml',
    );
    const context = { clock: bed.clock, random: () => 0, logger: silentLogger };
    const node = watchNode(bed.admin, NODE, context);
    publisher = new DevicePublisher(context, { api: bed.admin, nodeName: NODE, node, drivers });
  };
  const slice = () => bed.server.store.get('resourceslices', { name: NAME }) as ResourceSlice | undefined;
  const names = () => slice()?.spec.devices?.map(({ name }) => name);
  const writes = () => bed.ended.filter((request) => /^(?:create|update)/u.test(request));

  test('are published once there is a Node, and again if the slice is deleted', async () => {
    publish(2);
    await bed.clock.advance(60_000);
    expect(slice()).toBeUndefined();
    bed.server.operations.create({ resource: 'nodes' }, nodeObject());
    await bed.clock.advance(1_000);
    expect(names()).toEqual(['device-0', 'device-1']);
    bed.server.operations.delete({ ...SLICES, name: NAME });
    await bed.clock.advance(1_000);
    expect(names()).toEqual(['device-0', 'device-1']);
    expect(writes()).toHaveLength(2);
  });

  test('take the place of others, as another generation of the pool', async () => {
    bed.server.operations.create({ resource: 'nodes' }, nodeObject());
    publish(1);
    await bed.clock.advance(1_000);
    publisher?.stop();
    publish(2);
    await bed.clock.advance(1_000);
    expect(names()).toEqual(['device-0', 'device-1']);
    expect(slice()?.spec.pool.generation).toBe(2);
  });

  test('that are published already are not written again', async () => {
    bed.server.operations.create({ resource: 'nodes' }, nodeObject());
    publish(1);
    await bed.clock.advance(1_000);
    publisher?.stop();
    publish(1);
    await bed.clock.advance(60_000);
    expect(writes()).toHaveLength(1);
  });

  test('are published once the API server answers again', async () => {
    bed.server.operations.create({ resource: 'nodes' }, nodeObject());
    bed.faults = { ...NO_API_FAULTS, fail: 1 };
    publish(1);
    await bed.clock.advance(20_000);
    expect(slice()).toBeUndefined();
    bed.faults = NO_API_FAULTS;
    await bed.clock.advance(120_000);
    expect(names()).toEqual(['device-0']);
  });
});
