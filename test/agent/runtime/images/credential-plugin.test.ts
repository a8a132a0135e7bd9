/** Plugins are real programs: shell scripts. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type {
  CredentialProvider,
  TokenAttributes,
} from '../../../../src/agent/policies/images/credential-provider-config.ts';
import {
  CredentialPlugins,
  type PluginSurroundings,
} from '../../../../src/agent/runtime/images/credential-plugin.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { RecordedMeasurements } from '../../../support/recorded-measurements.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { podOf } from './image-bed.ts';
import type { AgentContext } from '../../../../src/types/agent-context.ts';
import { silentLogger } from '../../../support/silent-logger.ts';
import { testContext } from '../../../support/test-context.ts';

const API_VERSION = 'credentialprovider.kubelet.k8s.io/v1';
const IMAGE = 'quay.io/team/app';
const TOKEN = 'eyJ.token.for-tests';
const NEVER = new AbortController().signal;

let dir: string;
let clock: VirtualClock;
let warnings: string[];
let opened: CredentialPlugins[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-plugins-'));
  clock = new VirtualClock();
  warnings = [];
  opened = [];
});
afterEach(() => {
  for (const plugins of opened) plugins.close();
  rmSync(dir, { recursive: true });
});

const path = (name: string) => join(dir, name);
/** How often the plugin was run. */
const runs = () => (existsSync(path('runs')) ? readFileSync(path('runs'), 'utf8').length : 0);
const request = () => JSON.parse(readFileSync(path('request'), 'utf8')) as Record<string, unknown>;

const answer = (more: object = {}) =>
  JSON.stringify({
    kind: 'CredentialProviderResponse',
    apiVersion: API_VERSION,
    cacheKeyType: 'Image',
    auth: { 'quay.io': { username: 'me', password: 'hush' } },
    ...more,
  });
const says = (text: string) => `cat > request\ncat <<'EOT'\n${text}\nEOT`;

/** Writes the program, which counts its runs in its folder. */
function write(script: string, name = 'login'): void {
  writeFileSync(path(name), `#!/bin/sh\ncd ${dir}\nprintf x >> runs\n${script}\n`);
  chmodSync(path(name), 0o755);
}

function open(
  fields: Partial<CredentialProvider> = {},
  { measurements, accounts }: Partial<PluginSurroundings & AgentContext> = {},
): CredentialPlugins {
  const provider = {
    name: 'login',
    apiVersion: API_VERSION,
    matchImages: ['quay.io/team', '*.example'],
    defaultCacheDuration: '10m',
    ...fields,
  };
  const logger = { ...silentLogger, warn: (_: object, message: string) => void warnings.push(message) };
  const context = testContext({ clock, logger, measurements });
  const plugins = new CredentialPlugins(context, [provider], { binDir: dir, accounts });
  opened.push(plugins);
  return plugins;
}

const users = async (plugins: CredentialPlugins, image = IMAGE, pod: Pod = podOf('pod')) =>
  (await plugins.credentials(pod, image, NEVER)).map(({ auth }) => auth.username);

describe('a plugin', () => {
  test('gets the request on stdin, with arguments and variables, and answers on stdout', async () => {
    write(`echo "$1 $COLOR $HOME" > seen\n${says(answer())}`);
    const plugins = open({ args: ['--verbose'], env: [{ name: 'COLOR', value: 'blue' }] });
    expect(await plugins.credentials(podOf('pod'), IMAGE, NEVER)).toEqual([
      { hostPattern: 'quay.io', port: '', pathPrefix: '', auth: { username: 'me', password: 'hush' } },
    ]);
    expect(readFileSync(path('request'), 'utf8')).toBe(
      `{"kind":"CredentialProviderRequest","apiVersion":"${API_VERSION}","image":"${IMAGE}"}\n`,
    );
    expect(readFileSync(path('seen'), 'utf8')).toBe(`--verbose blue ${process.env.HOME ?? ''}\n`);
  });

  test('is not run for images that do not match its configuration', async () => {
    write(says(answer()));
    const plugins = open();
    for (const image of ['quay.io/other', 'gcr.io/team', 'example/app', 'a.b.example/c']) {
      expect(await users(plugins, image)).toEqual([]);
    }
    expect(runs()).toBe(0);
    expect(await users(plugins, 'a.example/b')).toEqual(['me']);
  });

  test('runs once for equal requests at the same time', async () => {
    write(says(answer({ cacheDuration: '0s' })));
    const plugins = open();
    expect(await Promise.all([users(plugins), users(plugins)])).toEqual([['me'], ['me']]);
    expect(runs()).toBe(1);
    await users(plugins);
    expect(runs()).toBe(2);
  });
});

test('each run of a plugin is timed, and counts as an error where the program fails', async () => {
  const measurements = new RecordedMeasurements();
  const plugins = open({}, { measurements });
  write(says(answer()));
  await users(plugins);
  await users(plugins);
  write('exit 3');
  await users(plugins, 'a.example/b');
  rmSync(path('login'));
  await users(plugins, 'c.example/d');
  expect(measurements.told).toEqual([
    'plugin login begins',
    'plugin login ends',
    'plugin login begins',
    'plugin login ends in failure',
    'plugin login begins',
    'plugin login ends in failure',
  ]);
});

describe('an answer is kept', () => {
  test.each([
    ['Image', [1, 2, 3]],
    ['Registry', [1, 1, 2]],
    ['Global', [1, 1, 1]],
  ])('for the %s', async (cacheKeyType, counts) => {
    write(says(answer({ cacheKeyType })));
    const plugins = open({ matchImages: ['quay.io', 'gcr.io'] });
    for (const [index, image] of ['quay.io/a', 'quay.io/b', 'gcr.io/a'].entries()) {
      await users(plugins, image);
      await users(plugins, image);
      expect(runs()).toBe(counts[index]);
    }
  });

  test.each([
    ['as long as it says', { cacheDuration: '1m30s' }, '1h', 90_000],
    ['as long as the configuration says', {}, '2m', 120_000],
  ])('%s', async (_how, more, defaultCacheDuration, lifeMs) => {
    write(says(answer(more)));
    const plugins = open({ defaultCacheDuration });
    await users(plugins);
    await clock.advance(lifeMs);
    await users(plugins);
    expect(runs()).toBe(1);
    await clock.advance(1);
    await users(plugins);
    expect(runs()).toBe(2);
  });
});

describe('a plugin without a good answer is logged once, and the pull goes on without it', () => {
  const cases: [string, string, RegExp][] = [
    ['fails', 'echo no luck >&2; exit 3', /error execing credential provider plugin: exit status 3: no luck/],
    ['dies', 'kill -9 $$', /: signal: SIGKILL/],
    ['says nothing', 'exit 0', /response from stdout: it is not valid JSON/],
    ['talks nonsense', 'echo hush', /response from stdout: it is not valid JSON/],
    ['says too much', 'head -c 2000000 /dev/zero', /longer than 1 MiB/],
    [
      'has another version',
      says(answer({ apiVersion: 'v9' })),
      /did not match expected apiVersion:.*\/v1, actual apiVersion:v9/,
    ],
    ['is of another kind', says(answer({ kind: 'Other' })), /its kind is not CredentialProviderResponse/],
    ['has an unknown field', says(answer({ hush: 1 })), /unknown field "hush"/],
    ['has no key type', says(answer({ cacheKeyType: '' })), /did not return a valid cacheKeyType: ""/],
    ['has no duration', says(answer({ cacheDuration: 'soon' })), /cacheDuration is no duration/],
    [
      'has no texts',
      says(answer({ auth: { 'quay.io': { password: 7 } } })),
      /auth\.quay\.io\.password: must be a text/,
    ],
  ];
  test.each(cases)('%s', async (_how, script, problem) => {
    write(script);
    const plugins = open();
    expect(await users(plugins)).toEqual([]);
    expect(await users(plugins)).toEqual([]);
    expect(runs()).toBe(2);
    expect(warnings).toEqual([expect.stringMatching(problem)]);
    expect(warnings[0]).toContain('images are pulled without its credentials');
  });

  test('and again after it has worked meanwhile', async () => {
    write('exit 1');
    const plugins = open({ defaultCacheDuration: '0s' });
    await users(plugins);
    write(says(answer()));
    expect(await users(plugins)).toEqual(['me']);
    write('exit 1');
    await users(plugins);
    expect(warnings).toHaveLength(2);
  });

  test('its program is missing', async () => {
    expect(await users(open())).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining('ENOENT')]);
  });

  test('it hangs: after a minute it is killed, with its children', async () => {
    write('sleep 1000 & echo $! > child; echo $$ > own; wait');
    const plugins = open();
    const asking = users(plugins);
    await waitFor(() => existsSync(path('own')), { what: 'the plugin to hang' });
    const pids = ['child', 'own'].map((name) => Number(readFileSync(path(name), 'utf8')));
    await clock.advance(60_000);
    expect(await asking).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining('it has not ended within 1m0s, and was killed')]);
    await waitFor(() => pids.every(isGone), { what: 'its processes to be gone' });
  });

  test('a pod that does not wait any more rejects at once', async () => {
    write('echo $$ > own; sleep 1000');
    const abort = new AbortController();
    const asking = open().credentials(podOf('pod'), IMAGE, abort.signal);
    await waitFor(() => existsSync(path('own')), { what: 'the plugin to hang' });
    abort.abort(new Error('deleted'));
    await expect(asking).rejects.toThrow('deleted');
  });

  test('a plugin that runs is killed when the node is closed, and nothing is logged', async () => {
    write('echo $$ > own; exec sleep 1000');
    const plugins = open();
    const asking = users(plugins);
    await waitFor(() => existsSync(path('own')), { what: 'the plugin to hang' });
    plugins.close();
    expect(await asking).toEqual([]);
    const pid = Number(readFileSync(path('own'), 'utf8'));
    await waitFor(() => isGone(pid), { what: 'the plugin to be gone' });
    expect(warnings).toEqual([]);
  });
});

describe('with a service account', () => {
  const tokenAttributes: TokenAttributes = {
    serviceAccountTokenAudience: 'quay.io',
    requireServiceAccount: true,
    cacheType: 'ServiceAccount',
    requiredServiceAccountAnnotationKeys: ['quay.io/role'],
    optionalServiceAccountAnnotationKeys: ['quay.io/region'],
  };
  let annotations: Record<string, string>;
  let token: string;
  let asked: unknown[];

  beforeEach(() => {
    annotations = { 'quay.io/role': 'reader', other: 'x' };
    token = TOKEN;
    asked = [];
  });

  const accounts = (): NonNullable<PluginSurroundings['accounts']> => ({
    serviceAccount: (namespace, name) => {
      const metadata = { namespace, name, uid: `uid of ${name}`, annotations };
      return Promise.resolve(name === 'gone' ? undefined : { metadata });
    },
    token: (pod, wish) => {
      asked.push([pod.metadata.uid, wish]);
      return Promise.resolve(token);
    },
  });
  const podWith = (serviceAccountName?: string): Pod => {
    const pod = podOf('pod');
    return { ...pod, spec: { ...pod.spec, ...(serviceAccountName && { serviceAccountName }) } };
  };
  const openWith = (more: Partial<TokenAttributes> = {}) =>
    open({ tokenAttributes: { ...tokenAttributes, ...more } }, { accounts: accounts() });

  test('the plugin gets a token for its audience and the annotations; the credentials are those of the account', async () => {
    write(says(answer()));
    const [found] = await openWith().credentials(podWith('runner'), IMAGE, NEVER);
    expect(found?.source).toEqual({
      serviceAccount: { uid: 'uid of runner', namespace: 'default', name: 'runner' },
    });
    expect(asked).toEqual([['pod', { audience: 'quay.io' }]]);
    expect(request()).toEqual({
      kind: 'CredentialProviderRequest',
      apiVersion: API_VERSION,
      image: IMAGE,
      serviceAccountToken: TOKEN,
      serviceAccountAnnotations: { 'quay.io/role': 'reader' },
    });
  });

  test('answers are kept for each service account, its annotations and, where asked for, its token', async () => {
    write(says(answer({ cacheKeyType: 'Global' })));
    const plugins = openWith();
    await users(plugins, IMAGE, podWith('runner'));
    token = 'another';
    await users(plugins, IMAGE, podWith('runner'));
    expect(runs()).toBe(1);
    await users(plugins, IMAGE, podWith('other'));
    expect(runs()).toBe(2);
    annotations = { 'quay.io/role': 'writer' };
    await users(plugins, IMAGE, podWith('runner'));
    expect(runs()).toBe(3);

    const strict = openWith({ cacheType: 'Token' });
    await users(strict, IMAGE, podWith('runner'));
    token = 'a third';
    await users(strict, IMAGE, podWith('runner'));
    expect(runs()).toBe(5);
  });

  test('for a pod without one the plugin does not run, or runs without a token', async () => {
    write(says(answer()));
    expect(await users(openWith(), IMAGE, podWith())).toEqual([]);
    expect(runs()).toBe(0);
    const relaxed = { requireServiceAccount: false, requiredServiceAccountAnnotationKeys: [] };
    const [found] = await openWith(relaxed).credentials(podWith(), IMAGE, NEVER);
    expect(found).toMatchObject({ auth: { username: 'me' } });
    expect(found).not.toHaveProperty('source');
    expect(request()).not.toHaveProperty('serviceAccountToken');
    expect(warnings).toEqual([]);
  });

  test('the plugin does not run if a required annotation or the account is missing', async () => {
    write(says(answer()));
    annotations = {};
    const plugins = openWith();
    expect(await users(plugins, IMAGE, podWith('runner'))).toEqual([]);
    expect(warnings).toEqual([]);
    expect(await users(plugins, IMAGE, podWith('gone'))).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining('serviceaccount "gone" not found')]);
    expect(runs()).toBe(0);
  });

  test('the token is in no warning, and may be the password only where answers are kept by token', async () => {
    write(says(answer({ auth: { 'quay.io': { username: 'me', password: TOKEN } } })));
    expect(await users(openWith(), IMAGE, podWith('runner'))).toEqual([]);
    expect(warnings[0]).toContain('returned the service account token as the password');
    expect(await users(openWith({ cacheType: 'Token' }), IMAGE, podWith('runner'))).toEqual(['me']);
    write('cat >&2; exit 1');
    await users(openWith(), IMAGE, podWith('runner'));
    expect(warnings[1]).toContain('"serviceAccountToken":"(token)"');
    expect(warnings.join()).not.toContain(TOKEN);
  });
});

/** The init process of a container may not reap what it adopts. */
function isGone(pid: number): boolean {
  try {
    return /^\d+ \(.*\) Z/u.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return true;
  }
}
