/** Eviction plugins in a daemon with real processes, real sockets and a plugin that is asked over gRPC. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
import { waitFor } from '../../support/wait-for.ts';

const nothing = () => undefined;
const logger = { trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing };

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

function manifest(name: string, annotations: Readonly<Record<string, string>> = {}): void {
  const spec = { containers: [{ name: 'main', image: 'none', command: ['sleep', '1000'] }] };
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

test('a plugin that goes is dropped, and built-in ones are asked as the settings say', async () => {
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

test('dry run follows the configuration file, and a file that is not valid changes nothing', async () => {
  const file = join(dir, 'kubelet.yaml');
  const write = (fields: object) =>
    writeFileSync(
      file,
      JSON.stringify({
        apiVersion: 'kubelet.config.k8s.io/v1beta1',
        kind: 'KubeletConfiguration',
        evictionPlugins: fields,
      }),
    );
  manifest('chosen');
  write({ dryRun: ['*'] });
  const { configurationLayers, resolveLayers } =
    await import('../../../src/agent/config/kubelet/configuration-layers.ts');
  const flags = {
    ...({ rootDir: join(dir, 'root'), healthzPort: 'auto', exitWithPods: true, config: file } as const),
    ...{ pods: [join(dir, 'pods')], evictionPlugins: true, evictionPluginsSyncPeriod: 50 },
  };
  daemon = await startDaemon(resolveLayers(flags, (await configurationLayers(flags)).layers), { logger });
  await untilRuns('chosen');
  await startPlugin({
    evictPods: ({ activePods }) => ({
      evictPods: activePods.map((one) => ({ pod: one, reason: 'a test wants it', forceEvict: true })),
    }),
  });
  const until = (what: string, holds: (it: PluginsExplanation) => boolean) =>
    waitFor(async () => holds(await explained()), { what });
  await until('the plugin to be on trial', ({ plugins }) =>
    plugins.some(
      ({ name, isDryRun, evictPods }) => name === 'chooser' && isDryRun && evictPods?.length === 1,
    ),
  );
  const { settings } = await explained();
  expect(settings?.slice(0, 3)).toEqual([
    { name: 'dryRun', value: '*', from: file },
    { name: 'evictionBurst', value: '3', from: 'the default' },
    { name: 'conditionTransitionPeriod', value: '5m', from: 'the default' },
  ]);
  write({ dryRun: [], evictionBurst: 0 });
  await until(
    'the problem to be told',
    ({ settingsProblem }) => settingsProblem?.includes('evictionBurst') === true,
  );
  expect((await explained()).settings?.[0]).toMatchObject({ value: '*' });
  expect((await pod('chosen'))?.status?.phase).toBe('Running');
  write({ dryRun: [] });
  await waitFor(async () => (await pod('chosen'))?.status?.phase === 'Failed', { what: 'the pod to go' });
});

test('without the setting no plugin is asked, and nothing of it is shown', async () => {
  await start({ evictionPlugins: false });
  expect(await ask<EvictionExplanation>('/eviction')).not.toHaveProperty('plugins');
});
