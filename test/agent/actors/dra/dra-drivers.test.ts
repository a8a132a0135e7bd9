import { expect, test } from '@jest/globals';
import { DraDrivers } from '../../../../src/agent/actors/dra/dra-drivers.ts';
import type { AgentCore } from '../../../../src/agent/actors/cluster/cluster-parts.ts';
import { ResourceSlices } from '../../../../src/agent/cluster/objects/resource-slices.ts';
import type { ApiServer } from '../../../../src/agent/cluster/service/api-server.ts';
import { DRA_PLUGIN_TYPE } from '../../../../src/agent/policies/dra/dra-registration.ts';
import type { DraNode } from '../../../../src/agent/runtime/dra/dra-node.ts';
import type { GrpcLink } from '../../../../src/system/grpc/grpc-client.ts';
import { unlessAborted } from '../../../../src/system/promises.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import { testContext } from '../../../support/test-context.ts';

test('slices of a driver that registered while the server was away stay, and those of other drivers are deleted', async () => {
  const context = testContext();
  let isAway = true;
  const slices = new Map(['old.dra.test', 'gpu.dra.test'].map((driver) => [driver, driver]));
  const api = {
    list: () => {
      if (isAway) throw new StateletError('Unavailable', 'connect ECONNREFUSED');
      const items = Array.from(slices, ([name, driver]) => ({
        metadata: { name, uid: name },
        spec: { driver },
      }));
      return Promise.resolve({ metadata: {}, items });
    },
    delete: ({ name }: { name: string }) => Promise.resolve(void slices.delete(name)),
  } as unknown as ApiServer;
  const never = (signal: AbortSignal) => unlessAborted(new Promise<void>(() => undefined), signal);
  const link = { connect: never, close: () => undefined } as unknown as GrpcLink;
  const drivers = new DraDrivers(context as unknown as AgentCore, {
    dra: { drivers: { register: () => undefined } } as unknown as DraNode,
    dial: () => link,
    slices: new ResourceSlices(api, 'node-a'),
  });
  drivers.start();
  await context.clock.advance(5_000);
  const supportedVersions = ['v1.DRAPlugin'];
  drivers.handlers
    .get(DRA_PLUGIN_TYPE)
    ?.register({ name: 'gpu.dra.test', endpoint: '/gpu.sock', supportedVersions });
  isAway = false;
  await context.clock.advance(10_000);
  expect([...slices.keys()]).toEqual(['gpu.dra.test']);
  drivers.beginStop();
  drivers.stop();
  await context.clock.advance(0);
  expect(context.clock.armed).toBe(0);
});
