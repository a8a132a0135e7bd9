import { expect, test } from '@jest/globals';
import { pluginSections } from '../../src/commands/plugins-report.ts';
import type {
  ExplainedPlugin,
  ExplainedPluginCandidate,
  PluginsExplanation,
} from '../../src/agent/policies/eviction-plugins/plugins-explanation.ts';

const NOW_MS = 1_000_000_000;
const ago = (seconds: number) => NOW_MS - seconds * 1000;
const NOT_MET = {
  metType: 'NOT_MET',
  scope: '',
  thresholdValue: 0,
  observedValue: 0,
  gracePeriodSeconds: 0,
  firstObservedMs: undefined,
  isConfirmed: false,
} as const;

function plugin(name: string, more: Partial<ExplainedPlugin> = {}): ExplainedPlugin {
  return {
    name,
    origin: 'built-in',
    state: 'Serving',
    sinceMs: ago(300),
    problem: undefined,
    isDryRun: false,
    evictPods: [],
    threshold: NOT_MET,
    topPods: undefined,
    refused: [],
    ...more,
  };
}

const wanted = (name: string, forceEvict: boolean) => ({
  pod: `default/${name}`,
  uid: name,
  reason: 'it is old',
  forceEvict,
  gracePeriodSeconds: undefined,
});

function candidate(name: string, more: Partial<ExplainedPluginCandidate> = {}): ExplainedPluginCandidate {
  const fixed = { plugin: 'oldest-first', scope: 'soft', verdict: 'Stays', why: '' } as const;
  return { ...wanted(name, false), ...fixed, ...more };
}

test('settings are shown with their origin, unless they are the default, and why a change is not followed', () => {
  const [, ...lines] = pluginSections(
    {
      ...EMPTY,
      settings: [
        { name: 'dryRun', value: 'p', from: '/etc/kubelet.yaml' },
        { name: 'evictionBurst', value: '3', from: 'the default' },
      ],
      settingsProblem: '/etc/kubelet.yaml: bad\u001b',
    },
    NOW_MS,
  );
  expect(lines).toEqual([
    'Settings that can change: dryRun is p (/etc/kubelet.yaml)\n',
    'Changed settings are not followed: /etc/kubelet.yaml: bad\\u001b\n',
  ]);
});

const EMPTY: PluginsExplanation = {
  plugins: [],
  decidedMs: undefined,
  state: 'Waiting',
  awaited: [],
  conditions: [],
  candidates: [],
  queue: [],
  kills: [],
};

const text = (explanation: Partial<PluginsExplanation>) =>
  pluginSections({ ...EMPTY, ...explanation }, NOW_MS).join('\n');

test('without plugins the report has a sentence instead', () => {
  expect(text({})).toBe('Eviction plugins: none has registered\n');
});

test('before the first pass, and while a pass waits for plugins', () => {
  const plugins = [plugin('a', { evictPods: undefined, threshold: undefined })];
  const explanation = { plugins, state: 'Collecting', awaited: ['a', 'b'] };
  expect(text(explanation)).toBe(
    [
      'Eviction plugins: 1, there was no pass yet, now Collecting, waits for a, b',
      '',
      'PLUGIN   STATE     FOR   FROM',
      'a        Serving   5m    built-in',
      '',
    ].join('\n'),
  );
});

test('each plugin is listed with its answers, each pod with the verdict of the rules', () => {
  const socket = '/var/lib/statelet/plugins_registry/x.sock';
  const threshold = {
    metType: 'HARD_MET',
    scope: 'memory',
    thresholdValue: 10,
    observedValue: 12.5,
    gracePeriodSeconds: 30,
    firstObservedMs: ago(40),
    isConfirmed: true,
  } as const;
  const shown = text({
    decidedMs: ago(2),
    plugins: [
      plugin('broken', {
        origin: socket,
        state: 'Failing',
        sinceMs: ago(9),
        problem: 'GetEvictPods: has not answered within 2 s',
        evictPods: undefined,
        threshold: undefined,
      }),
      plugin('numa'),
      plugin('oldest-first', {
        evictPods: [wanted('a', true), wanted('b', false)],
        threshold,
        topPods: [wanted('c', true)],
        refused: ['pod default/x (UID x) is not on this node'],
      }),
      plugin('rss'),
      plugin('soft', {
        threshold: { ...threshold, metType: 'SOFT_MET', firstObservedMs: ago(3), isConfirmed: false },
      }),
      plugin('trial', { isDryRun: true, evictPods: [wanted('a', false)] }),
    ],
    candidates: [
      candidate('a', {
        forceEvict: true,
        scope: 'force',
        verdict: 'Goes',
        why: 'plugin oldest-first wants it gone',
      }),
      candidate('b', { why: 'default/a is less important', gracePeriodSeconds: 5 }),
    ],
    conditions: [
      { name: 'Hot', effects: ['NoSchedule', 'NoExecute'], lastObservedMs: ago(2), stands: true },
      { name: 'Old', effects: [], lastObservedMs: ago(600), stands: false },
    ],
    queue: ['default/q', 'default/r'],
    kills: [
      {
        uid: 'k',
        pod: 'default/k',
        plugin: 'rss',
        reason: 'it uses too much',
        killer: 'EvictionAPI',
        state: 'BackingOff',
        sinceMs: ago(20),
        problem: '429: a budget',
      },
    ],
  });
  expect(shown.replaceAll(/ {2,}/gu, ' | ').replaceAll(socket, 'SOCKET')).toBe(
    [
      'Eviction plugins: 6, latest pass 2s ago, now Waiting',
      '',
      'PLUGIN | STATE | FOR | FROM',
      'broken | Failing | 9s | SOCKET | GetEvictPods: has not answered within 2 s',
      'numa | Serving | 5m | built-in',
      'oldest-first | Serving | 5m | built-in',
      'rss | Serving | 5m | built-in',
      'soft | Serving | 5m | built-in',
      'trial | Serving | 5m | built-in | dry run: its answers are only counted',
      '',
      'What plugins have answered in the latest pass:',
      ' | oldest-first: to go: default/a (in any case), default/b',
      ' | oldest-first: its hard threshold of memory is met for 40s (target 10, observed 12.5), counts',
      ' | oldest-first: to go for its threshold: default/c (in any case)',
      ' | oldest-first: refused: pod default/x (UID x) is not on this node',
      ' | soft: to go: no pod',
      ' | soft: its soft threshold of memory is met for 3s (target 10, observed 12.5), counts after 30 s',
      ' | trial: to go: default/a',
      ' | no pod is to go: numa, rss',
      '',
      'Pods that plugins have named, and what the rules make of it:',
      'POD | VERDICT | PLUGIN | SCOPE | GRACE | REASON | WHY',
      'default/a | goes | oldest-first | force | its own | it is old | plugin oldest-first wants it gone',
      'default/b | stays | oldest-first | soft | 5 s | it is old | default/a is less important',
      '',
      'Conditions:',
      'CONDITION | EFFECTS | LAST SEEN | COUNTS',
      'Hot | NoSchedule,NoExecute | 2s ago | yes',
      'Old | none | 10m ago | no',
      '',
      'Waiting for their turn: default/q, default/r',
      '',
      'Pods that are being ended:',
      'POD | PLUGIN | BY | STATE | FOR | PROBLEM',
      'default/k | rss | EvictionAPI | BackingOff | 20s | 429: a budget',
      '',
    ].join('\n'),
  );
});

test('a built-in plugin that is not enabled is shown as such, and has no answer', () => {
  const lines = text({ plugins: [plugin('load', { isEnabled: false }), plugin('rss', { isEnabled: true })] });
  expect(lines).toMatch(/load +Serving .* not enabled by its settings/);
  expect(lines).toContain('no pod is to go: rss\n');
});

test('texts of plugins cannot move the cursor or begin a line', () => {
  const evil = 'a\n\u001b[2Jb';
  const shown = text({
    decidedMs: ago(1),
    plugins: [plugin(evil, { problem: evil, refused: [evil], origin: evil })],
    candidates: [candidate('a', { reason: evil, why: evil, plugin: evil, scope: evil })],
    kills: [
      {
        uid: 'k',
        pod: 'default/k',
        plugin: evil,
        reason: evil,
        killer: 'x',
        state: 'y',
        sinceMs: ago(1),
        problem: evil,
      },
    ],
    awaited: [evil],
    queue: [evil],
    conditions: [{ name: evil, effects: [evil], lastObservedMs: ago(1), stands: true }],
  });
  // oxlint-disable-next-line no-control-regex -- these must not be there
  expect(shown).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/u);
  expect(shown).not.toMatch(/^b/mu);
});
