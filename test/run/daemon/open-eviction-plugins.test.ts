/** Eviction plugins in a daemon with real processes, real sockets and a plugin that is asked over gRPC. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { resolveConfig, type RunFlags } from '../../../src/agent/config/config.ts';
import { type Daemon, startDaemon } from '../../../src/run/daemon.ts';
import {
  type EvictionPluginDefinition,
  type RunningEvictionPlugin,
  startEvictionPlugin,
} from '../../../src/eviction-plugin-kit/eviction-plugin-kit.ts';
import type { EvictionExplanation } from '../../../src/agent/policies/eviction/explanation.ts';
import type { PluginsExplanation } from '../../../src/agent/policies/eviction-plugins/plugins-explanation.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import type { Summary } from '../../../src/types/stats.ts';
import { writeUsers } from '../../support/plugin-users.ts';
import { describeWithPython } from '../../support/python.ts';
import { waitFor } from '../../support/wait-for.ts';

const nothing = () => undefined;
const logger = { trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing };

const FOREIGN_PLUGIN = fileURLToPath(new URL('../../support/foreign-plugin.py', import.meta.url));

let dir: string;
let daemon: Daemon | undefined;
let plugin: RunningEvictionPlugin | undefined;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-plugins-'));
  mkdirSync(join(dir, 'pods'));
});

afterEach(async () => {
  await plugin?.stop();
  await daemon?.stop();
  rmSync(dir, { recursive: true });
  [daemon, plugin] = [undefined, undefined];
});

function manifest(
  name: string,
  annotations: Readonly<Record<string, string>> = {},
  script = 'exec sleep 1000',
): void {
  const spec = { containers: [{ name: 'main', image: 'none', command: ['sh', '-c', script] }] };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, annotations }, spec };
  writeFileSync(join(dir, 'pods', `${name}.json`), JSON.stringify(pod));
}

async function start(flags: RunFlags = {}): Promise<void> {
  const fixed = { rootDir: join(dir, 'root'), healthzPort: 'auto', exitWithPods: true } as const;
  const pods = { pods: [join(dir, 'pods')] };
  const plugins = { evictionPlugins: true, evictionPluginsSyncPeriod: 50 };
  daemon = await startDaemon(resolveConfig({ ...fixed, ...pods, ...plugins, ...flags }), { logger });
}

async function startPlugin(definition: Partial<EvictionPluginDefinition>): Promise<void> {
  const whole = { name: 'chooser', evictPods: nothing, ...definition };
  const registryDir = join(dir, 'root', 'plugins_registry');
  plugin = await startEvictionPlugin(whole, { registryDir, handleSignals: false, log: nothing });
}

async function ask<T>(path: string): Promise<T> {
  return (await (await fetch(`http://${daemon?.address ?? ''}${path}`)).json()) as T;
}

const explained = async (): Promise<PluginsExplanation> =>
  (await ask<EvictionExplanation>('/eviction')).plugins!;
const pod = async (name: string) =>
  (await ask<{ items: readonly Pod[] }>('/pods')).items.find(({ metadata }) => metadata.name === name);
const untilRuns = (name: string) =>
  waitFor(async () => (await pod(name))?.status?.phase === 'Running', { what: `${name} to run` });

test('a plugin on a socket has a pod ended, and a system pod stays', async () => {
  manifest('chosen');
  manifest('other');
  manifest('system', { 'katalyst.kubewharf.io/qos_level': 'system_cores' });
  await start();
  await Promise.all(['chosen', 'other', 'system'].map(untilRuns));
  const shown = new Map<string, Pod>();
  await startPlugin({
    evictPods: ({ activePods }) => {
      for (const one of activePods) shown.set(one.metadata.name, one as Pod);
      const named = activePods.filter(({ metadata }) => metadata.name !== 'other');
      return { evictPods: named.map((one) => ({ pod: one, reason: 'a test wants it', forceEvict: true })) };
    },
  });
  await waitFor(async () => (await pod('chosen'))?.status?.phase === 'Failed', { what: 'the pod to go' });
  expect((await pod('chosen'))?.status?.reason).toBe('Evicted');
  expect([...shown.keys()].sort()).toEqual(['chosen', 'other', 'system']);
  expect(shown.get('other')).toMatchObject({
    metadata: { annotations: { 'kubernetes.io/config.source': 'api' } },
    status: { phase: 'Running', qosClass: 'BestEffort' },
  });
  const { ended, plugins } = await explained();
  expect(plugins.find(({ name }) => name === 'chooser')).toMatchObject({ state: 'Serving', isDryRun: false });
  const verdicts = ended?.candidates.map(({ pod: name, verdict }) => `${name} ${verdict}`);
  expect(verdicts?.sort()).toEqual(['default/chosen Goes', 'default/system Stays']);
  expect((await pod('system'))?.status?.phase).toBe('Running');
});

test('a plugin that disappears is dropped, and built-in plugins are called as the settings say', async () => {
  await start({ evictionPluginsInner: ['*', '-rss-overuse-eviction-plugin'] });
  await startPlugin({});
  const states = async () =>
    (await explained()).plugins
      .map(({ name, state }) => [name, state])
      .filter(([name]) => name === 'chooser' || name?.startsWith('rss'));
  await waitFor(async () => (await states()).join() === 'chooser,Serving', {
    what: 'the plugin to register',
  });
  await plugin?.stop();
  plugin = undefined;
  await waitFor(async () => (await states()).join() === 'chooser,Gone', { what: 'the plugin to be gone' });
});

/** Writes the object `evictionPlugins` of the configuration file. */
function configure(fields: object): void {
  const [apiVersion, kind] = ['kubelet.config.k8s.io/v1beta1', 'KubeletConfiguration'];
  writeFileSync(join(dir, 'kubelet.yaml'), JSON.stringify({ apiVersion, kind, evictionPlugins: fields }));
}

/** With that file, which is followed. */
async function startByFile(fields: object): Promise<void> {
  configure(fields);
  const { configurationLayers, resolveLayers } =
    await import('../../../src/agent/config/kubelet/configuration-layers.ts');
  const flags = {
    ...({ rootDir: join(dir, 'root'), healthzPort: 'auto', exitWithPods: true } as const),
    ...{ pods: [join(dir, 'pods')], evictionPlugins: true, evictionPluginsSyncPeriod: 50 },
    config: join(dir, 'kubelet.yaml'),
  };
  daemon = await startDaemon(resolveLayers(flags, (await configurationLayers(flags)).layers), { logger });
}

test('dry run follows the configuration file, and a file that is not valid changes nothing', async () => {
  manifest('chosen');
  await startByFile({ dryRun: ['*'] });
  await untilRuns('chosen');
  await startPlugin({
    evictPods: ({ activePods }) => ({
      evictPods: activePods.map((one) => ({ pod: one, reason: 'a test wants it', forceEvict: true })),
    }),
  });
  const until = (what: string, holds: (it: PluginsExplanation) => boolean) =>
    waitFor(async () => holds(await explained()), { what });
  await until('the plugin to be in dry run', ({ plugins }) =>
    plugins.some(
      ({ name, isDryRun, evictPods }) => name === 'chooser' && isDryRun && evictPods?.length === 1,
    ),
  );
  const { settings } = await explained();
  expect(settings?.slice(0, 3)).toEqual([
    { name: 'dryRun', value: '*', from: join(dir, 'kubelet.yaml') },
    { name: 'evictionBurst', value: '3', from: 'the default' },
    { name: 'conditionTransitionPeriod', value: '5m', from: 'the default' },
  ]);
  configure({ dryRun: [], evictionBurst: 0 });
  await until(
    'the problem to be told',
    ({ settingsProblem }) => settingsProblem?.includes('evictionBurst') === true,
  );
  expect((await explained()).settings?.[0]).toMatchObject({ value: '*' });
  expect((await pod('chosen'))?.status?.phase).toBe('Running');
  configure({ dryRun: [] });
  await waitFor(async () => (await pod('chosen'))?.status?.phase === 'Failed', { what: 'the pod to go' });
});

test('a built-in plugin that is enabled by the file ends the pod that has written most, and its thresholds are explained', async () => {
  manifest('writer', {}, 'head -c 4194304 /dev/zero; exec sleep 1000');
  manifest('quiet');
  await startByFile({ rootfsPressureEvictionConfig: { minimumImageFsDiskCapacityThreshold: '0' } });
  await Promise.all(['writer', 'quiet'].map(untilRuns));
  const enabled = async () =>
    (await explained()).settings?.find(({ name }) => name.endsWith('.enableRootfsPressureEviction'));
  expect(await enabled()).toMatchObject({ value: 'false', from: 'the default' });
  const rootfs = async () =>
    (await explained()).plugins.find(({ name }) => name === 'rootfs-pressure-eviction-plugin');
  expect(await rootfs()).toMatchObject({ origin: 'built-in', isEnabled: false });
  const logged = async () =>
    (await ask<Summary>('/stats/summary')).pods.find(({ podRef }) => podRef.name === 'writer');
  await waitFor(async () => ((await logged())?.['ephemeral-storage']?.usedBytes ?? 0) > 4e6, {
    what: 'the log to be seen',
  });
  configure({
    rootfsPressureEvictionConfig: {
      minimumImageFsDiskCapacityThreshold: '0',
      enableRootfsPressureEviction: true,
      minimumImageFsFreeThreshold: '100%',
      podMinimumUsedThreshold: '1Mi',
    },
  });
  await waitFor(async () => (await pod('writer'))?.status?.reason === 'Evicted', { what: 'the pod to go' });
  expect((await pod('quiet'))?.status?.phase).toBe('Running');
  expect(await enabled()).toMatchObject({ value: 'true', from: join(dir, 'kubelet.yaml') });
  expect(await rootfs()).toMatchObject({ isEnabled: true });
  const { conditions, ended } = await explained();
  expect(conditions).toMatchObject([{ name: 'SystemRootfs', effects: ['NoSchedule'] }]);
  expect(ended?.candidates).toMatchObject([
    { pod: 'default/writer', plugin: 'rootfs-pressure-eviction-plugin', verdict: 'Goes' },
  ]);
});

test('without the setting no plugin is called, and none is shown', async () => {
  await start({ evictionPlugins: false });
  expect(await ask<EvictionExplanation>('/eviction')).not.toHaveProperty('plugins');
});

describeWithPython('a plugin in another language, where plugins must prove who they are', (python) => {
  let foreign: ChildProcessWithoutNullStreams | undefined;
  afterEach(async () => {
    if (foreign?.exitCode === null) {
      foreign.stdin.end();
      await once(foreign, 'exit');
    }
  });

  /** The lines that it has printed. */
  function startForeign(login: string): readonly string[] {
    const own = join(dir, 'own');
    mkdirSync(own, { recursive: true });
    const args = [FOREIGN_PLUGIN, join(dir, 'root', 'plugins_registry'), own];
    const env = { ...process.env, LOGIN: login, ENDPOINT: '1' };
    foreign = spawn(python, args, { env });
    const lines: string[] = [];
    foreign.stderr.pipe(process.stderr);
    createInterface(foreign.stdout).on('line', (line) => void lines.push(line));
    return lines;
  }

  const STRICT = { evictionPluginsStrictAuthentication: true, evictionPluginsInner: [] } as const;

  test.each([
    [
      'no token',
      '',
      'refused RegisterPlugin error -- plugin validation failed with err: failed to get token',
    ],
    [
      'a wrong one',
      'py:guessed',
      'refused RegisterPlugin error -- plugin validation failed with err: failed to',
    ],
  ])('with %s it gets the reason of its refusal, and no other call', async (_, login, refusal) => {
    const usersFile = join(dir, 'users.yaml');
    writeUsers(usersFile, { py: ['secret', ['eviction_plugin/foreign']] });
    await start({ ...STRICT, evictionPluginsUsersFile: usersFile });
    const lines = startForeign(login);
    await waitFor(() => lines.length >= 2, { what: 'the refusal' });
    expect([lines[0], lines[1]]).toEqual(['token', expect.stringContaining(refusal)]);
    expect((await explained()).plugins.map(({ name, state }) => [name, state])).toEqual([
      ['foreign', 'Registering'],
    ]);
  });

  test('with its token its pods are evicted: those that it names, and one of its candidates', async () => {
    const usersFile = join(dir, 'users.yaml');
    writeUsers(usersFile, { py: ['secret', ['eviction_plugin/foreign']] });
    for (const name of ['unwanted', 'candidate-a', 'candidate-b', 'other']) manifest(name);
    await start({ ...STRICT, evictionPluginsUsersFile: usersFile, evictionPluginsSyncPeriod: 200 });
    await Promise.all(['unwanted', 'candidate-a', 'candidate-b', 'other'].map(untilRuns));
    const lines = startForeign('py:secret');
    for (const name of ['unwanted', 'candidate-a', 'candidate-b'])
      await waitFor(async () => (await pod(name))?.status?.phase === 'Failed', { what: `${name} to go` });
    expect((await pod('unwanted'))?.status).toMatchObject({
      reason: 'Evicted',
      message: 'Eviction plugin foreign chose this pod: in another language',
    });
    expect((await pod('other'))?.status?.phase).toBe('Running');
    expect(lines.slice(0, 3)).toEqual([
      'token',
      'registered',
      'candidates 0 memory candidate-a,candidate-b 2',
    ]);
    const { plugins, conditions } = await explained();
    expect(plugins).toMatchObject([{ name: 'foreign', state: 'Serving', refused: [] }]);
    expect(conditions).toMatchObject([{ name: 'Crowded', effects: ['NoSchedule'], stands: true }]);
  });
});
