/** The example, as a process of its own, asked by the agent's own client; and how it comes back after a restart of the agent. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ListedDevice } from '../../../../src/agent/policies/devices/device-list.ts';
import type { RegisterRequest } from '../../../../src/agent/runtime/devices/device-messages.ts';
import { RegistrationSocket } from '../../../../src/agent/runtime/devices/registration-socket.ts';
import { RemoteDevicePlugin } from '../../../../src/agent/runtime/devices/remote-device-plugin.ts';
import { systemClock } from '../../../../src/system/timer.ts';
import { waitFor } from '../../../support/wait-for.ts';

const EXAMPLE = fileURLToPath(
  new URL('../../../../examples/device-plugin/device-plugin.ts', import.meta.url),
);
const LAMP = 'example.com/lamp';

let dir: string;
/** Not there before the plugin starts. */
let folder: string;
let example: ChildProcess | undefined;
const sockets: RegistrationSocket[] = [];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'device-plugin-'));
  folder = join(dir, 'device-plugins');
});
afterEach(async () => {
  const ended = example && once(example, 'close');
  example?.kill('SIGKILL');
  await ended;
  for (const socket of sockets.splice(0)) socket.close();
  rmSync(dir, { recursive: true });
});

/** An agent that starts, and the first plugin that registers with it. */
async function agent(): Promise<{ readonly registered: Promise<RegisterRequest> }> {
  const { promise: registered, resolve } = Promise.withResolvers<RegisterRequest>();
  const socket = new RegistrationSocket(folder, (request) => {
    resolve(request);
    return Promise.resolve();
  });
  sockets.push(socket);
  await socket.open();
  return { registered };
}

test('it has at most 80 lines, waits for the agent, registers, lists its devices and hands them out, and registers again when the agent starts again', async () => {
  expect(readFileSync(EXAMPLE, 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(80);
  example = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', EXAMPLE], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { PATH: process.env.PATH, FOLDER: folder },
  });
  await waitFor(() => existsSync(folder), { what: 'the folder of device plugins' });
  const { registered } = await agent();
  const request = await registered;
  expect(request).toMatchObject({ version: 'v1beta1', resourceName: LAMP });
  const plugin = new RemoteDevicePlugin(LAMP, join(folder, request.endpoint));
  const { signal } = new AbortController();
  await plugin.connect(signal);
  const { promise: listed, resolve } = Promise.withResolvers<readonly ListedDevice[]>();
  const watching = plugin.listAndWatch(systemClock, resolve, signal).catch(() => undefined);
  expect((await listed).map(({ ID, health }) => `${ID} ${health}`)).toEqual([
    'red Healthy',
    'green Healthy',
    'blue Healthy',
  ]);
  expect(await plugin.allocate(['red', 'blue'], signal)).toMatchObject({ envs: { LAMPS: 'red,blue' } });
  sockets.splice(0).forEach((socket) => socket.close());
  const next = await agent();
  expect(await next.registered).toEqual(request);
  // The connections of the former agent are over.
  await watching;
  plugin.close();
});
