/** The device plugins of a node on real sockets: what becomes of its resources when plugins come, fail, are replaced and go. */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { filter, firstValueFrom, startWith } from 'rxjs';
import type { NodeDevicePlugins } from '../../../src/agent/actors/devices/node-device-plugins.ts';
import type { RegistrationStatus } from '../../../src/agent/plugins/protocol/service-methods.ts';
import { DeviceManager } from '../../../src/agent/runtime/devices/device-manager.ts';
import { checkpointIn, DevicesFile } from '../../../src/agent/runtime/devices/devices-file.ts';
import { openDevicePlugins } from '../../../src/run/daemon/open-device-plugins.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import { systemClock } from '../../../src/system/timer.ts';
import type { Clock } from '../../../src/types/clock.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { PluginServer } from '../../support/plugin-server.ts';
import { healthy, TestDevicePlugin, type TestDevicePluginOptions } from '../../support/test-device-plugin.ts';
import { testContext } from '../../support/test-context.ts';
import { waitFor } from '../../support/wait-for.ts';

const GPU = 'example.com/gpu';

let rootDir: string;
let devices: DeviceManager;
let node: NodeDevicePlugins;
let plugins: TestDevicePlugin[];
const registrars: PluginServer[] = [];

beforeEach(() => {
  rootDir = mkdtempSync(join(tmpdir(), 'device-plugins-'));
  mkdirSync(join(rootDir, 'plugins_registry'));
  plugins = [];
});
afterEach(async () => {
  for (const server of registrars.splice(0)) server.stop();
  for (const plugin of plugins) plugin.kill();
  await node.stop();
  await devices.stop();
  rmSync(rootDir, { recursive: true });
});

function begin(clock: Clock = systemClock, onAllocatable: () => void = ignore): void {
  const context = { ...testContext({ clock }), sync: ignore, onAllocatable, reportNow: ignore };
  const folder = join(rootDir, 'device-plugins');
  devices = new DeviceManager(context, folder, new DevicesFile(checkpointIn(folder), context.logger));
  const registryDir = join(rootDir, 'plugins_registry');
  node = openDevicePlugins(context, { devices, registryDir, others: new Map() });
  node.start();
}

const ignore = () => undefined;

function plugin(options: Partial<TestDevicePluginOptions> = {}): TestDevicePlugin {
  const folder = join(rootDir, 'device-plugins');
  const made = new TestDevicePlugin({ folder, resource: GPU, devices: healthy('a', 'b'), ...options });
  plugins.push(made);
  return made;
}

/** Lets the watcher of plugins find the plugin. Resolves to the server, and to what that is told first. */
async function announce(one: TestDevicePlugin, name: string) {
  const { promise: told, resolve } = Promise.withResolvers<RegistrationStatus>();
  const info = {
    type: 'DevicePlugin',
    name: GPU,
    endpoint: one.path,
    supportedVersions: ['v1beta1'],
  };
  const server = await PluginServer.start(
    {
      getInfo: () => info,
      notifyRegistrationStatus: (status) => {
        resolve(status);
        return {};
      },
    },
    join(rootDir, 'plugins_registry', name),
  );
  registrars.push(server);
  return { server, told };
}

/** What can be had of all that there is; undefined: the node does not know the resource. */
function amounts(): string | undefined {
  const { capacity, allocatable } = devices.resources();
  return capacity[GPU] === undefined ? undefined : `${allocatable[GPU] ?? ''} of ${capacity[GPU]}`;
}

const until = (wanted: string | undefined) =>
  firstValueFrom(
    devices.changes.pipe(
      startWith(undefined),
      filter(() => amounts() === wanted),
    ),
  );

/** Which devices a new pod gets that asks for one. */
async function given(uid: string): Promise<readonly string[]> {
  const main = { name: 'main', image: 'app:1', resources: { limits: { [GPU]: '1' } } };
  const pod: Pod = { metadata: { uid, name: uid, namespace: 'default' }, spec: { containers: [main] } };
  devices.allocate(pod, main, undefined);
  await devices.complete(pod, new AbortController().signal);
  return devices.heldResources(uid, 'main').flatMap(({ deviceIDs }) => deviceIDs);
}

test('a plugin that does not send its options is refused, and the node does not have its resource', async () => {
  begin();
  const failing = plugin({ fails: (call) => call === 'GetDevicePluginOptions' });
  await expect(failing.start()).rejects.toThrow(
    /failed to get device plugin options: .*GetDevicePluginOptions fails/u,
  );
  expect([failing.lists, amounts()]).toEqual([0, undefined]);
});

test('only healthy devices can be requested, and the node keeps the others in its capacity', async () => {
  begin();
  const one = plugin();
  await one.start();
  await until('2 of 2');
  one.list([...healthy('a'), { ID: 'b', health: 'Unhealthy' }]);
  await until('1 of 2');
  one.list(healthy('a', 'b', 'c'));
  await until('3 of 3');
});

test('however many lists arrive at once, waiting pods are tried again once', async () => {
  const clock = new VirtualClock();
  let asked = 0;
  begin(clock, () => {
    asked++;
  });
  for (let time = 0; time < 30; time++) devices.changes.next();
  expect(asked).toBe(0);
  await clock.advance(0);
  expect(asked).toBe(1);
  devices.changes.next();
  await clock.advance(0);
  expect(asked).toBe(2);
});

test('a plugin that ends its list gets no second request for it: none of its devices can be requested, and after five minutes they are gone', async () => {
  const clock = new VirtualClock();
  begin(clock);
  const one = plugin();
  await one.start();
  await until('2 of 2');
  one.endLists();
  await until('0 of 2');
  await clock.advance(5 * 60_000 - 1);
  expect([amounts(), one.lists]).toEqual(['0 of 2', 1]);
  await clock.advance(1);
  expect(amounts()).toBeUndefined();
  expect(devices.resources().removed).toEqual([GPU]);
});

test('a plugin whose list fails at once has registered its resource, which has no devices', async () => {
  begin();
  const failing = plugin({ fails: (call) => call === 'ListAndWatch' });
  await failing.start();
  await until('0 of 0');
  expect(failing.lists).toBe(1);
});

test('a second plugin of a resource replaces the first one, which may end then; a second one that fails changes nothing', async () => {
  begin();
  const first = plugin({ socket: 'first.sock' });
  await first.start();
  await until('2 of 2');
  const failing = plugin({ socket: 'failing.sock', fails: (call) => call === 'GetDevicePluginOptions' });
  await expect(failing.start()).rejects.toThrow('GetDevicePluginOptions fails');
  expect([amounts(), await given('p1')]).toEqual(['2 of 2', ['a']]);
  const second = plugin({ socket: 'second.sock', devices: healthy('a', 'b', 'c') });
  await second.start();
  await until('3 of 3');
  first.kill();
  expect([amounts(), await given('p2')]).toEqual(['3 of 3', ['b']]);
  expect([first.allocated, second.allocated]).toEqual([[['a']], [['b']]]);
});

test('a plugin that is replaced still answers earlier calls', async () => {
  begin();
  const asked = Promise.withResolvers<undefined>();
  const mayAnswer = Promise.withResolvers<object>();
  const allocate = () => {
    asked.resolve(undefined);
    return mayAnswer.promise;
  };
  await plugin({ socket: 'first.sock', allocate }).start();
  await until('2 of 2');
  const waiting = given('p1');
  await asked.promise;
  await plugin({ socket: 'second.sock', devices: healthy('a', 'b', 'c') }).start();
  await until('3 of 3');
  mayAnswer.resolve({});
  expect(await waiting).toEqual(['a']);
});

test('the watcher of plugins registers one, reports its failure to it, and drops it with its socket, but not a newer one', async () => {
  begin();
  let isBroken = true;
  const one = plugin({ fails: () => isBroken });
  await waitFor(() => existsSync(join(rootDir, 'device-plugins', 'kubelet.sock')), { what: 'the agent' });
  await one.listen();
  const broken = await announce(one, 'gpu.sock');
  expect(await broken.told).toMatchObject({
    registered: false,
    error: expect.stringContaining('GetDevicePluginOptions fails') as unknown,
  });
  broken.server.stop();
  isBroken = false;
  const former = await announce(one, 'gpu-1.sock');
  expect(await former.told).toMatchObject({ registered: true });
  await until('2 of 2');
  // The same endpoint, as of a plugin that is updated.
  const latter = await announce(one, 'gpu-2.sock');
  expect(await latter.told).toMatchObject({ registered: true });
  await until('2 of 2');
  former.server.stop();
  expect(await given('p1')).toEqual(['a']);
  latter.server.stop();
  await until('0 of 2');
});
