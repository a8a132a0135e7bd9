/** Plugins as other processes have them: real sockets in a real folder, gRPC servers that are not ours, and the production clients. */
import { mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Plugins } from '../../../../src/agent/actors/plugins/plugin-directory.ts';
import type { HostedPlugin } from '../../../../src/agent/actors/plugins/plugin-parts.ts';
import { RemoteEvictionPlugin } from '../../../../src/agent/plugins/remote-eviction-plugin.ts';
import type {
  PluginHandler,
  PluginHandlers,
} from '../../../../src/agent/plugins/registration/plugin-handler.ts';
import { registrationClient } from '../../../../src/agent/plugins/protocol/registration-client.ts';
import type {
  PluginInfo,
  RegistrationStatus,
} from '../../../../src/agent/plugins/protocol/service-methods.ts';
import { systemClock } from '../../../../src/system/timer.ts';
import { errorMessage } from '../../../../src/types/errors.ts';
import type { EvictionPlugin } from '../../../../src/types/eviction-plugin.ts';
import { RSS_INFO } from '../../../support/fake-registration.ts';
import { FakePlugin } from '../../../support/eviction-plugins.ts';
import { PluginServer } from '../../../support/plugin-server.ts';
import { testContext } from '../../../support/test-context.ts';
import { waitFor } from '../../../support/wait-for.ts';

let folder: string;
let plugins: Plugins;
let cleanUp: (() => unknown)[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plug-'));
  cleanUp = [];
});

afterEach(async () => {
  await plugins.stop();
  for (const work of cleanUp) await work();
  await rm(folder, { recursive: true, force: true });
});

function start(builtIn: readonly EvictionPlugin[] = [], handlers?: PluginHandlers): void {
  plugins = new Plugins(testContext({ clock: systemClock }), {
    registryDir: folder,
    builtIn,
    handlers,
    connect: (registered) => new RemoteEvictionPlugin(registered),
    openRegistration: registrationClient,
  });
  plugins.start();
}

const path = (name: string) => join(folder, name);

/** It registers, and chooses no pods. `info`: what of its GetInfo is its own; undefined: GetInfo is never answered. */
async function plugin(name: string, info: () => Partial<PluginInfo> | undefined = () => ({})) {
  const told: RegistrationStatus[] = [];
  let hanging = 0;
  const getInfo = (_: object, signal: AbortSignal) => {
    const own = info();
    if (own !== undefined) return { ...RSS_INFO, ...own };
    hanging += 1;
    signal.addEventListener('abort', () => (hanging -= 1));
    return new Promise<PluginInfo>(() => undefined);
  };
  const notifyRegistrationStatus = (status: RegistrationStatus) => {
    told.push(status);
    return {};
  };
  const getEvictPods = () => ({ evictPods: [] });
  const server = await PluginServer.start({ getInfo, notifyRegistrationStatus, getEvictPods }, path(name));
  cleanUp.push(() => server.stop());
  return { server, told, hanging: () => hanging };
}

/** A server without gRPC. */
async function rawServer(name: string, onSocket: (socket: Socket) => void): Promise<Server> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    onSocket(socket);
  });
  await new Promise<void>((done) => server.listen(path(name), done));
  cleanUp.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((done) => server.close(done));
  });
  return server;
}

const known = (name: string) => plugins.all().findLast(({ origin }) => origin === path(name));
const until = (name: string, what: string, holds: (hosted: HostedPlugin) => boolean) =>
  waitFor(
    () => {
      const hosted = known(name);
      return hosted !== undefined && holds(hosted) && hosted;
    },
    { what: `${name} to be ${what}` },
  );
const untilState = (name: string, state: string) => until(name, state, (hosted) => hosted.state() === state);
const untilProblem = (name: string, text: string) =>
  until(name, text, (hosted) => hosted.problem()?.includes(text) === true);
const asks = ({ plugin: asked }: HostedPlugin) =>
  asked.getEvictPods({ activePods: { pods: [] }, signal: AbortSignal.timeout(60_000) });

test('a plugin registers, gets its confirmation, and is asked at its socket', async () => {
  start();
  const { told } = await plugin('rss.sock');
  const hosted = await untilState('rss.sock', 'Serving');
  expect([hosted.plugin.name, told]).toEqual(['rss', [{ registered: true, error: '' }]]);
  expect(await asks(hosted)).toMatchObject({ evictPods: [] });
});

test('a plugin of another type is taken by the handler of that type, and is not asked for pods', async () => {
  const heard: string[] = [];
  const handler: PluginHandler = {
    problemOf: ({ name, supportedVersions }) => {
      heard.push(`validate ${name} ${supportedVersions.join()}`);
      return name === 'bad' ? 'it is a bad one' : undefined;
    },
    register: ({ name, endpoint }) => {
      heard.push(`register ${name} at ${endpoint}`);
      return { close: () => heard.push(`deregister ${name}`) };
    },
  };
  start([], new Map([['DevicePlugin', handler]]));
  const device = { type: 'DevicePlugin', supportedVersions: ['v1beta1'] };
  // An eviction plugin may have the same name.
  const eviction = await plugin('eviction.sock');
  await untilState('eviction.sock', 'Serving');
  const { server, told } = await plugin('device.sock', () => device);
  const bad = await plugin('bad.sock', () => ({ ...device, name: 'bad' }));
  await waitFor(() => told.length > 0 && bad.told.length > 0, { what: 'both to be told' });
  const problem = 'RegisterPlugin error -- plugin validation failed with err: it is a bad one';
  expect([told, bad.told]).toEqual([
    [{ registered: true, error: '' }],
    [{ registered: false, error: problem }],
  ]);
  const isRegistered = () =>
    plugins.sockets().find((socket) => socket.path === path('device.sock'))?.isRegistered;
  await waitFor(isRegistered, { what: 'the device plugin to be registered' });
  expect(plugins.plugins().map(({ origin }) => origin)).toEqual([path('eviction.sock')]);
  server.stop();
  await rm(path('device.sock'), { force: true });
  await waitFor(() => heard.includes('deregister rss'), { what: 'the device plugin to be let go' });
  expect(heard.filter((line) => !line.includes('bad'))).toEqual([
    'validate rss v1beta1',
    `register rss at ${path('device.sock')}`,
    'deregister rss',
  ]);
  expect(eviction.told).toHaveLength(1);
});

test('a plugin whose endpoint is another socket is asked there', async () => {
  start();
  const elsewhere = await mkdtemp(join(tmpdir(), 'plug-'));
  cleanUp.push(() => rm(elsewhere, { recursive: true, force: true }));
  const { server } = await plugin('.hidden');
  const endpoint = join(elsewhere, 'rss.sock');
  await server.bind(endpoint);
  await plugin('registration.sock', () => ({ endpoint: `unix://${endpoint}` }));
  const hosted = await untilState('registration.sock', 'Serving');
  expect(await asks(hosted)).toMatchObject({ evictPods: [] });
  server.stop();
  await expect(asks(hosted)).rejects.toThrow(endpoint);
});

test.each([
  ['another type', { type: 'DevicePlugin' }, 'no handler registered for plugin type: DevicePlugin at socket'],
  [
    'other versions',
    { supportedVersions: ['v1', 'v2'] },
    'supported here: v1alpha1; supported by the plugin: v1, v2',
  ],
  ['the name of a built-in plugin', { name: 'own' }, '"own" is the name of a built-in plugin'],
  ['no name', { name: '' }, 'it has no name'],
])(
  'a plugin with %s is refused, told why, and is registered when it has changed',
  async (_, info, reason) => {
    start([new FakePlugin('own')]);
    let own: object = info;
    const { told } = await plugin('rss.sock', () => own);
    await waitFor(() => told.length > 0, { what: 'the refusal' });
    expect(told[0]).toEqual({ registered: false, error: expect.stringContaining(reason) });
    expect(plugins.plugins().map(({ plugin: asked }) => asked.name)).toEqual(['own']);
    own = {};
    await untilState('rss.sock', 'Serving');
    expect(told.at(-1)).toEqual({ registered: true, error: '' });
  },
);

test('a socket that is no plugin delays no other plugin', async () => {
  start();
  const hanging = await plugin('hangs.sock', () => undefined);
  await rawServer('silent.sock', () => undefined);
  await rawServer('nonsense.sock', (socket) => socket.write('HTTP/1.1 200 OK\r\n\r\nnonsense'));
  await rawServer('closes.sock', (socket) => socket.end());
  const dead = await rawServer('.dead', () => undefined);
  await rename(path('.dead'), path('dead.sock'));
  await new Promise((done) => dead.close(done));
  await writeFile(path('file'), '');
  await symlink('/nonexistent', path('dangling.sock'));
  await plugin('rss.sock');
  await untilState('rss.sock', 'Serving');
  await untilProblem('dead.sock', 'ECONNREFUSED');
  await until('nonsense.sock', 'refused', (hosted) => hosted.problem() !== undefined);
  await until('closes.sock', 'refused', (hosted) => hosted.problem() !== undefined);
  await waitFor(() => hanging.hanging() > 0, { what: 'the call that hangs' });
  expect(plugins.plugins().map(({ origin }) => origin)).toEqual([path('rss.sock')]);
  const others = ['hangs', 'silent', 'nonsense', 'closes', 'dead'].map((name) => path(`${name}.sock`));
  expect(
    plugins
      .all()
      .map(({ origin }) => origin)
      .toSorted(),
  ).toEqual([...others, path('rss.sock')].toSorted());
});

test('the stop ends a registration that hangs', async () => {
  start();
  const hanging = await plugin('hangs.sock', () => undefined);
  await waitFor(() => hanging.hanging() === 1, { what: 'the call that hangs' });
  await plugins.stop();
  await waitFor(() => hanging.hanging() === 0, { what: 'the end of the call' });
});

test('a plugin that dies with its socket is gone, and serves again when it comes back', async () => {
  start();
  const first = await plugin('rss.sock');
  const hosted = await untilState('rss.sock', 'Serving');
  first.server.stop();
  await waitFor(() => hosted.state() === 'Gone', { what: 'the plugin to be gone' });
  expect([plugins.plugins(), hosted.problem()]).toEqual([[], 'its socket is gone']);
  await expect(asks(hosted)).rejects.toThrow('the connection was closed');
  const second = await plugin('rss.sock');
  expect(await asks(await untilState('rss.sock', 'Serving'))).toMatchObject({ evictPods: [] });
  expect([second.told, plugins.all().length]).toEqual([[{ registered: true, error: '' }], 1]);
});

test('a plugin that is killed and leaves its socket fails, and its successor takes the path over', async () => {
  start();
  const first = await plugin('.first');
  await rename(path('.first'), path('rss.sock'));
  const former = await untilState('rss.sock', 'Serving');
  first.server.stop();
  former.failed(await asks(former).then(String, errorMessage));
  expect([former.state(), plugins.plugins()]).toEqual(['Failing', [former]]);
  expect(former.problem()).toContain('eviction plugin rss');
  await plugin('.second');
  await rename(path('.second'), path('rss.sock'));
  const hosted = await untilState('rss.sock', 'Serving');
  expect([former.state(), plugins.plugins()]).toEqual(['Gone', [hosted]]);
  expect(await asks(hosted)).toMatchObject({ evictPods: [] });
});

test('of two plugins with one name the later one is asked; when it goes, the other one is asked again', async () => {
  start();
  const first = await plugin('a.sock');
  await untilState('a.sock', 'Serving');
  const second = await plugin('b.sock');
  await untilState('b.sock', 'Serving');
  expect(plugins.plugins().map(({ origin }) => origin)).toEqual([path('b.sock')]);
  second.server.stop();
  await untilState('a.sock', 'Serving');
  expect([plugins.plugins().map(({ origin }) => origin), first.told.length]).toEqual([[path('a.sock')], 2]);
});

test('two hundred sockets at once are registered', async () => {
  start();
  let asked = 0;
  const { server, told } = await plugin('0.sock', () => ({ name: `plugin-${(asked += 1)}` }));
  await Promise.all(Array.from({ length: 199 }, (_, i) => server.bind(path(`${i + 1}.sock`))));
  await waitFor(() => plugins.plugins().length === 200, { what: '200 plugins' });
  expect([asked, told.length]).toEqual([200, 200]);
});
