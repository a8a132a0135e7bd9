import { mkdirSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { PodCgroups } from '../../../../src/agent/runtime/cgroups/pod-cgroups.ts';
import { withCgroupDriver } from '../../../../src/agent/runtime/node/runtime-cgroup-driver.ts';
import type { RuntimeService } from '../../../../src/agent/runtime/service/runtime-service.ts';
import type { PodSandbox, RuntimeStatus, RuntimeCgroupDriver } from '../../../../src/types/cri.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import { openCgroups, PlainCgroups, podOf } from '../cgroups/cgroup-bed.ts';
import { testContext } from '../../../support/test-context.ts';

const READY = { type: 'RuntimeReady', status: true, reason: '', message: '' } as const;
const driverOf = (name: RuntimeCgroupDriver['name'], isReported = true) => ({ name, isReported });

let plain: PlainCgroups;
let cgroups: PodCgroups;
/** What the runtime answers; undefined: it is down. */
let driver: RuntimeCgroupDriver | undefined;
let isDown = false;
/** Whether the driver was asked for, call by call. */
let asked: boolean[];
let sandboxes: PodSandbox[];

const bare = {
  status: ({ asksCgroupDriver = false } = {}): Promise<RuntimeStatus> => {
    asked.push(asksCgroupDriver);
    if (isDown) return Promise.reject(new StateletError('Unavailable', 'down'));
    return Promise.resolve({
      conditions: [READY],
      ...(asksCgroupDriver && driver && { cgroupDriver: driver }),
    });
  },
  runPodSandbox: () =>
    Promise.reject(
      new StateletError(
        'Unknown',
        'expected cgroupsPath to be of format "slice:prefix:name" for systemd cgroups, got "/kubepods"',
      ),
    ),
  listPodSandbox: () => Promise.resolve(sandboxes),
} as unknown as RuntimeService;

const runtime = () => withCgroupDriver(testContext(), bare, cgroups);

beforeEach(async () => {
  plain = new PlainCgroups();
  plain.mountV2('cpu memory pids');
  asked = [];
  sandboxes = [];
  isDown = false;
  driver = undefined;
  const systemd = { booted: plain.path('booted'), sockets: { direct: '/none', bus: '/none' } };
  cgroups = await openCgroups({ mountinfoFile: plain.mountinfoFile, systemd });
});
afterEach(() => plain.remove());

describe('the driver of the runtime', () => {
  test('is read once, and again after the runtime was down', async () => {
    driver = driverOf('cgroupfs');
    const service = runtime();
    for (const down of [false, false, true, false, false]) {
      isDown = down;
      await service.status().catch(() => undefined);
    }
    expect(asked).toEqual([true, false, false, true, false]);
  });

  test('that differs from the configured one makes it not ready, until it is the same', async () => {
    const service = runtime();
    driver = driverOf('systemd', false);
    for (let call = 0; call < 2; call++) {
      const [first] = (await service.status()).conditions;
      expect(first).toMatchObject({ type: 'RuntimeReady', status: false, reason: 'CgroupDriverMismatch' });
    }
    driver = driverOf('cgroupfs', false);
    expect((await service.status()).conditions).toEqual([READY]);
    expect(asked).toEqual([true, true, true]);
  });

  test('is taken where the runtime reports it, if this machine has it', async () => {
    const service = runtime();
    driver = driverOf('systemd');
    const [impossible] = (await service.status()).conditions;
    expect(impossible).toMatchObject({
      status: false,
      message: expect.stringContaining('systemd is not process 1'),
    });
    expect(cgroups.driver).toBe('cgroupfs');
    mkdirSync(plain.path('booted'));
    expect((await service.status()).conditions).toEqual([READY]);
    expect(cgroups.driver).toBe('systemd');
    expect(cgroups.parentOf(podOf('u'))).toMatch(/^\/kubepods\.slice\//);
  });

  test('that is not known leads to no message', async () => {
    expect((await runtime().status()).conditions).toEqual([READY]);
  });
});

test("the runtime's error for the first pod becomes a sentence with the line to change", async () => {
  const config = { metadata: { name: 'p', uid: 'u', namespace: 'n', attempt: 0 } } as never;
  await expect(runtime().runPodSandbox(config)).rejects.toMatchObject({
    kind: 'Unknown',
    message: expect.stringMatching(
      /^the container runtime's cgroup driver is systemd, .*expected cgroupsPath/,
    ),
  });
});

test('a sandbox in groups of the other driver counts as ended', async () => {
  mkdirSync(
    plain.path(
      'v2/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podu.slice/cri-containerd-a.scope',
    ),
    { recursive: true },
  );
  await cgroups.useDriver('cgroupfs');
  const sandbox = (id: string) =>
    ({
      id,
      state: 'SANDBOX_READY',
      metadata: { uid: 'u', name: 'p', namespace: 'n', attempt: 0 },
    }) as PodSandbox;
  sandboxes = [sandbox('a'), sandbox('b')];
  const states = (await runtime().listPodSandbox()).map(({ state }) => state);
  expect(states).toEqual(['SANDBOX_NOTREADY', 'SANDBOX_READY']);
});
