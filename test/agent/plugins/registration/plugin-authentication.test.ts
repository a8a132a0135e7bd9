/** Tokens of plugins on real sockets, and a file of users that changes. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { Plugins } from '../../../../src/agent/actors/plugins/plugin-directory.ts';
import { PluginAuthentication } from '../../../../src/agent/plugins/registration/plugin-authentication.ts';
import { registrationClient } from '../../../../src/agent/plugins/protocol/registration-client.ts';
import { RemoteEvictionPlugin } from '../../../../src/agent/plugins/remote-eviction-plugin.ts';
import { startEvictionPlugin } from '../../../../src/eviction-plugin-kit/eviction-plugin-kit.ts';
import { systemClock } from '../../../../src/system/timer.ts';
import type { PluginUsers } from '../../../../src/agent/policies/eviction-plugins/plugin-users.ts';
import { errorMessage } from '../../../../src/types/errors.ts';
import { basicToken, writeUsers } from '../../../support/plugin-users.ts';
import { RSS_INFO } from '../../../support/fake-registration.ts';
import { PluginServer } from '../../../support/plugin-server.ts';
import { recordingLogger } from '../../../support/recording-logger.ts';
import { RecordedMeasurements } from '../../../support/recorded-measurements.ts';
import { testContext } from '../../../support/test-context.ts';
import { waitFor } from '../../../support/wait-for.ts';

const nothing = () => undefined;

let folder: string;
let usersFile: string;
let plugins: Plugins;
let measurements: RecordedMeasurements;
let cleanUp: (() => unknown)[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'auth-'));
  usersFile = join(folder, 'users.yaml');
  measurements = new RecordedMeasurements();
  cleanUp = [];
});

afterEach(async () => {
  await plugins.stop();
  for (const work of cleanUp) await work();
  rmSync(folder, { recursive: true });
});

function start(isStrict = true, clusterUsers?: () => PluginUsers | undefined) {
  const { logger, lines } = recordingLogger();
  plugins = new Plugins(testContext({ clock: systemClock, logger }), {
    registryDir: folder,
    builtIn: [],
    authentication: new PluginAuthentication({
      ...{ usersFile, isStrict, measurements: measurements.plugins },
      ...(clusterUsers && { clusterUsers }),
    }),
    isGuarded: isStrict,
    connect: (...args) => new RemoteEvictionPlugin(...args),
    openRegistration: registrationClient,
  });
  plugins.start();
  return lines;
}

/** What the plugin is told, and how often its token was asked for. */
async function plugin(token: (() => string) | undefined, name = 'rss', endpoint = '') {
  const told: (string | true)[] = [];
  const answers = {
    getInfo: () => ({ ...RSS_INFO, name, endpoint }),
    notifyRegistrationStatus: ({ registered, error }: { registered: boolean; error: string }) => {
      told.push(registered || error);
      return {};
    },
    ...(token && { getToken: () => ({ token: token() }) }),
  };
  const server = await PluginServer.start(answers, join(folder, `${name}.sock`));
  cleanUp.push(() => server.stop());
  const hears = (what: string) =>
    waitFor(() => told.some((one) => String(one).includes(what)), { what: `${name} to hear: ${what}` });
  return { told, hears };
}

const validated = () => measurements.told.filter((line) => line.includes('valid'));

test('a plugin whose token is that of a user with the right is registered', async () => {
  writeUsers(usersFile, { rss: ['secret', ['eviction_plugin']] });
  start();
  const { hears } = await plugin(() => basicToken('rss', 'secret'));
  await hears('true');
  const names = () => plugins.plugins().map((hosted) => hosted.plugin.name);
  await waitFor(() => names().length > 0, { what: 'the plugin to be registered' });
  expect(names()).toEqual(['rss']);
  expect(validated()).toEqual(['rss of rss: valid true']);
});

test('users of the cluster come before those of the file, which may be left out; until they are known no plugin is accepted', async () => {
  const known: { users?: PluginUsers } = {};
  usersFile = '';
  start(true, () => known.users);
  const { hears } = await plugin(() => basicToken('rss', 'secret'));
  await hears('no AuthConfiguration for this node has been read yet');
  known.users = {
    passwords: new Map([['rss', 'secret']]),
    resources: new Map([['rss', ['eviction_plugin/rss']]]),
  };
  await hears('true');
});

test.each([
  ['without tokens', undefined, 'failed to get token: eviction plugin rss'],
  ['with an empty token', () => '', 'failed to verify token'],
  ['with a wrong password', () => basicToken('rss', 'Secret'), 'failed to verify token'],
  ['of an unknown user', () => basicToken('nobody', 'secret'), 'failed to verify token'],
  ['of a user for another plugin', () => basicToken('other', 'x'), 'user other has none of the permissions'],
])('a plugin %s is refused and never asked, and no password is told', async (_, token, problem) => {
  writeUsers(usersFile, { rss: ['secret', ['eviction_plugin']], other: ['x', ['eviction_plugin/other']] });
  const lines = start();
  const { hears, told } = await plugin(token);
  await hears(problem);
  expect(plugins.plugins()).toEqual([]);
  expect(JSON.stringify([told, lines])).not.toMatch(/[sS]ecret/);
});

test('a plugin elsewhere whose socket is made again by another one is not asked before that one has proved who it is', async () => {
  writeUsers(usersFile, { rss: ['secret', ['*']] });
  start();
  const elsewhere = join(folder, '.elsewhere');
  mkdirSync(elsewhere);
  const endpoint = join(elsewhere, 'rss.sock');
  const asked: string[] = [];
  const serve = (who: string, password: string) =>
    PluginServer.start(
      {
        getToken: () => (asked.push(`${who} token`), { token: basicToken('rss', password) }),
        getEvictPods: () => (asked.push(`${who} pods`), { evictPods: [] }),
      },
      endpoint,
    );
  const first = await serve('first', 'secret');
  const { hears } = await plugin(() => basicToken('rss', 'secret'), 'rss', endpoint);
  await hears('true');
  const hosted = () => plugins.plugins()[0];
  await waitFor(() => hosted() !== undefined, { what: 'the plugin to be registered' });
  const ask = () =>
    hosted()!.plugin.getEvictPods({ activePods: { pods: [] }, signal: AbortSignal.timeout(60_000) });
  await ask();
  first.stop();
  const impostor = await serve('impostor', 'guessed');
  const outcome = () => ask().then(() => 'answered', errorMessage);
  const refusal = `${endpoint}): GetEvictPods: failed to verify token`;
  await waitFor(async () => (await outcome()).includes(refusal), { what: 'the refusal' });
  impostor.stop();
  const again = await serve('again', 'secret');
  cleanUp.push(() => again.stop());
  await expect(Promise.all([ask(), ask()])).resolves.toHaveLength(2);
  expect([...new Set(asked)]).toEqual([
    'first token',
    'first pods',
    'impostor token',
    'again token',
    'again pods',
  ]);
});

test('users are read each time: a plugin that was refused is taken once its user is known', async () => {
  start();
  const { hears } = await plugin(() => basicToken('rss', 'secret'));
  await hears('the users of this agent are not known');
  writeUsers(usersFile, { rss: ['secret', ['*']] });
  await hears('true');
});

test('passwords of a file that others can read prove nothing', async () => {
  writeUsers(usersFile, { rss: ['secret', ['*']] });
  chmodSync(usersFile, 0o644);
  start();
  await (await plugin(() => basicToken('rss', 'secret'))).hears('chmod 600');
});

test('where it is not demanded, it is only counted, and a folder that others can write to is logged', async () => {
  chmodSync(folder, 0o777);
  writeUsers(usersFile, {});
  const lines = start(false);
  await (await plugin(() => basicToken('rss', 'secret'))).hears('true');
  expect(validated()).toEqual(['rss of unknown: valid false authenticate_failed']);
  const warnings = lines.filter(({ message }) => message.includes('can be written by others'));
  expect(warnings.map(({ level, message }) => [level, message.includes('mode 0777')])).toEqual([
    ['warn', true],
  ]);
});

test('where it is demanded, the rights of the folder are not logged', async () => {
  chmodSync(folder, 0o777);
  writeUsers(usersFile, { rss: ['secret', ['*']] });
  const lines = start();
  await (await plugin(() => basicToken('rss', 'secret'))).hears('true');
  expect(lines.filter(({ level }) => level === 'warn')).toEqual([]);
});

test('a plugin made with the kit proves who it is', async () => {
  writeUsers(usersFile, { me: ['pässword:', ['eviction_plugin/kit']] });
  start();
  const running = await startEvictionPlugin(
    { name: 'kit', evictPods: nothing },
    {
      registryDir: folder,
      handleSignals: false,
      log: nothing,
      user: () => ({ name: 'me', password: 'pässword:' }),
    },
  );
  cleanUp.push(() => running.stop());
  await waitFor(() => running.registration() === 'Registered', { what: 'the plugin to be registered' });
});
