import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Attacher } from '../../../src/hollow/cluster/attacher.ts';
import { RequestGate } from '../../../src/hollow/cluster/request-gate.ts';
import { parseHollowPlan } from '../../../src/hollow/plan/hollow-plan.ts';
import { NO_API_FAULTS } from '../../../src/simulation/api/api-faults.ts';
import type { VolumeAttachment } from '../../../src/types/kubernetes.ts';
import { ApiBed } from '../../simulation/api/api-bed.ts';
import { silentLogger } from '../../support/silent-logger.ts';

const ATTACHMENTS = { resource: 'volumeattachments' } as const;

describe('attachments of volumes', () => {
  let bed: ApiBed;
  let chance: number;
  let attacher: Attacher;

  beforeEach(() => {
    bed = new ApiBed();
    chance = 0.5;
    const { csiDrivers: drivers } = parseHollowPlan(
      `csiDrivers:
        - { name: disks, callFailures: 0.3, calls: { ControllerPublishVolume: 2s } }
        - { name: others, attacher: false }`,
      'plan.yaml',
    );
    attacher = new Attacher(
      { clock: bed.clock, random: () => 0, logger: silentLogger },
      {
        api: bed.admin,
        gate: new RequestGate(),
        drivers,
        isOwn: (name) => name === 'hollow-1',
        random: () => chance,
      },
    );
  });
  afterEach(() => attacher.close());

  const create = (name: string, spec: Partial<VolumeAttachment['spec']> = {}) =>
    bed.server.operations.create(ATTACHMENTS, {
      metadata: { name },
      ...{ spec: { attacher: 'disks', nodeName: 'hollow-1', source: {}, ...spec } },
    });
  const statusOf = (name: string) =>
    (bed.server.store.get('volumeattachments', { name }) as VolumeAttachment | undefined)?.status;

  test('become attached in the time of the plan', async () => {
    create('one');
    await bed.clock.advance(1_900);
    create('two');
    expect(statusOf('one')).toBeUndefined();
    await bed.clock.advance(1_000);
    expect([statusOf('one'), statusOf('two')]).toMatchObject([{ attached: true }, undefined]);
    await bed.clock.advance(2_000);
    expect(statusOf('two')).toMatchObject({ attached: true });
    expect(bed.ended.filter((request) => request.startsWith('patch'))).toHaveLength(2);
  });

  test('of other drivers and nodes, and of drivers with an attacher of their own, stay as they are', async () => {
    create('unknown', { attacher: 'unknown' });
    create('own', { attacher: 'others' });
    create('elsewhere', { nodeName: 'node-1' });
    await bed.clock.advance(60_000);
    expect(['unknown', 'own', 'elsewhere'].map(statusOf)).toEqual([undefined, undefined, undefined]);
  });

  test('fail by plan with an error, and are tried again', async () => {
    chance = 0;
    create('one');
    await bed.clock.advance(3_000);
    expect(statusOf('one')).toMatchObject({
      attachError: { message: 'rpc error: code = Unavailable desc = the driver fails, by plan' },
    });
    chance = 0.5;
    await bed.clock.advance(30_000);
    expect(statusOf('one')).toMatchObject({ attached: true });
    expect(statusOf('one')).not.toHaveProperty('attachError');
  });

  test('are attached once the API server answers again', async () => {
    create('one');
    await bed.clock.advance(1_000);
    bed.faults = { ...NO_API_FAULTS, fail: 1 };
    await bed.clock.advance(10_000);
    expect(statusOf('one')).toBeUndefined();
    bed.faults = NO_API_FAULTS;
    await bed.clock.advance(60_000);
    expect(statusOf('one')).toMatchObject({ attached: true });
  });

  test('are not attached any more once they are deleted', async () => {
    create('one');
    await bed.clock.advance(1_000);
    bed.server.operations.delete({ ...ATTACHMENTS, name: 'one' });
    await bed.clock.advance(60_000);
    expect(bed.ended.filter((request) => request.startsWith('patch'))).toEqual([]);
  });
});
