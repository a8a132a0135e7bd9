import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { getEvictPodsAnswer } from '../../../../src/agent/plugins/remote-eviction-plugin.ts';
import {
  namedResponses,
  wholeResponses,
} from '../../../../src/agent/plugins/protocol/eviction-plugin-messages.ts';
import { settled } from '../../../../src/simulation/node/virtual-clock.ts';
import { seededRandom } from '../../../../src/simulation/plan/seeded-random.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import {
  candidates,
  condition,
  forces,
  hangs,
  met,
  named,
  PLUGIN_SETTINGS,
} from '../../../support/eviction-plugins.ts';
import { lastingPod } from '../eviction/eviction-bed.ts';
import { PluginBed } from './plugin-bed.ts';

const [A, B, C, D] = ['a', 'b', 'c', 'd'].map((name) => lastingPod(name)) as [Pod, Pod, Pod, Pod];
const STATIC = lastingPod('static', { annotations: { 'kubernetes.io/config.source': 'file' } });
const CRITICAL = lastingPod('critical', { critical: true });
const SYSTEM = lastingPod('system', { annotations: { 'katalyst.kubewharf.io/qos_level': 'system_cores' } });
const LOCAL = lastingPod('local', { annotations: { 'kubernetes.io/config.source': 'local' } });
const SHY = lastingPod('shy', { annotations: { 'katalyst.kubewharf.io/pod_soft_evict_notify': 'true' } });

let bed: PluginBed;

beforeEach(() => {
  bed = new PluginBed();
});

afterEach(() => bed.stop());

const explained = (name: string) => bed.manager.view().plugins.find((plugin) => plugin.name === name);

test('a pod for which a plugin requests an eviction is ended, once', async () => {
  bed.plugin('p').evicts = () => forces(A);
  await bed.start();
  await bed.run(A, B);
  await bed.pass();
  expect(bed.kills.calls).toEqual([['a']]);
  expect(bed.state('b')).toBe('Syncing.Settled');
  await bed.untilState('a', 'Terminated.Finished');
  await bed.pass();
  expect(bed.kills.calls).toEqual([['a']]);
  expect(bed.kills.ends).toContain('a Terminated');
  expect(bed.manager.view()).toMatchObject({
    candidates: [],
    ended: { candidates: [{ pod: 'default/a', verdict: 'Goes', reason: 'it uses too much' }] },
  });
});

test('conditions of thresholds are reported in each pass, those of plugins in dry run as such', async () => {
  const [p, trial] = [bed.plugin('p'), bed.plugin('trial')];
  p.threshold = () => met({ condition: condition('Hot'), gracePeriodSeconds: 60 });
  trial.threshold = () => met({ condition: condition('Cold'), gracePeriodSeconds: 60 });
  await bed.start({ dryRun: ['trial'] });
  await bed.pass();
  expect(bed.measurements.told).toEqual(
    expect.arrayContaining(['p reports Hot, dry run false', 'trial reports Cold, dry run true']),
  );
});

test('plugins that hang in each pass do not make the agent ill; passes that do not end do, and taints that are not compared', async () => {
  bed.plugin('p').evicts = hangs;
  await bed.start();
  for (let pass = 0; pass < 5; pass += 1) {
    await bed.ground.clock.advance(7_000);
    expect(bed.agent.health()).toBeUndefined();
  }
  bed.taintsProblem = 'taints are not compared any more';
  expect(bed.agent.health()).toBe('taints are not compared any more');
  bed.directory.plugins = () => {
    throw new Error('the directory is broken');
  };
  await expect(bed.ground.clock.advance(28_000)).rejects.toThrow('broken');
  await bed.ground.clock.advance(28_000);
  expect(bed.agent.health()).toContain('eviction plugins: no pass over them has ended for');
});

test('each pass reports how many pods are active, how many plugins see, and which it ends', async () => {
  bed.plugin('p').evicts = () => forces(A);
  await bed.start();
  await bed.run(A, B);
  await bed.pass();
  const { told } = bed.measurements;
  expect(told).toContain('2 of 2 pods are shown to plugins');
  expect(told).toContain('default/a is ended for p');
});

test('a pod that something else is ending is left alone', async () => {
  const p = bed.plugin('p');
  p.evicts = async () => {
    await Promise.resolve();
    bed.agent.supervisor.registry.kill('a');
    return forces(A);
  };
  await bed.start();
  await bed.run(A);
  await bed.pass();
  expect(bed.kills.calls).toEqual([]);
  expect(explained('p')?.refused).toEqual(['pod default/a (UID a) is ending already']);
});

test('a pod that begins to end while plugins are asked is left alone', async () => {
  bed.plugin('p').evicts = () => forces(A);
  const q = bed.plugin('q');
  q.evicts = async () => {
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    bed.agent.supervisor.registry.kill('a');
    return forces();
  };
  await bed.start();
  await bed.run(A);
  await bed.pass();
  expect(explained('p')?.evictPods?.map(({ pod }) => pod)).toEqual(['default/a']);
  expect(bed.kills.calls).toEqual([]);
  expect(bed.manager.view().candidates).toMatchObject([{ pod: 'default/a', verdict: 'BeingEnded' }]);
});

test('the threshold of a plugin is confirmed after its grace period, and has one pod ended', async () => {
  const p = bed.plugin('p');
  p.threshold = () => met({ gracePeriodSeconds: 10, scope: 'memory' });
  p.top = () => ({ targetPods: [named(B)], gracePeriodSeconds: 1 });
  await bed.start();
  await bed.run(A, B);
  await bed.pass();
  await bed.pass();
  expect(p.questions.filter((question) => question.startsWith('GetTop'))).toEqual([]);
  expect(explained('p')?.threshold).toMatchObject({ isConfirmed: false });
  await bed.pass();
  expect(p.questions.filter((question) => question.startsWith('GetTop'))).toEqual([
    'GetTopEvictionPods 1 memory',
  ]);
  expect(bed.kills.calls).toEqual([['b']]);
  expect(bed.lines[0]).toBe(
    'the threshold of p in scope memory has been met for its grace period of 10 s: target 10, observed 20',
  );
  await bed.pass();
  expect(bed.lines.filter((line) => line.startsWith('the threshold'))).toHaveLength(1);
});

test('a soft threshold is asked for candidates, of which the least important one goes after its own grace period', async () => {
  const p = bed.plugin('p');
  p.threshold = () => met({ metType: 'SOFT_MET', gracePeriodSeconds: 5 });
  p.top = () => ({ targetPods: [named(B), named(A), named(C), named(SHY)], gracePeriodSeconds: 1 });
  await bed.start();
  await bed.run(A, B, C, SHY);
  await bed.pass();
  expect(bed.kills.calls).toEqual([]);
  await bed.pass();
  expect(p.questions.filter((question) => question.startsWith('GetTop'))).toEqual([
    'GetTopEvictionPods 0 memory',
  ]);
  expect(bed.kills.calls).toEqual([['a']]);
  expect(explained('p')?.topPods?.map(({ pod }) => pod)).toEqual(
    ['b', 'a', 'c', 'shy'].map((name) => `default/${name}`),
  );
  const { candidates: all } = bed.manager.view();
  expect(all.map(({ pod, verdict }) => `${pod} ${verdict}`)).toEqual([
    'default/shy Notified',
    'default/c Stays',
    'default/b Stays',
    'default/a Goes',
  ]);
  expect(all.at(-1)).toMatchObject({ forceEvict: false, scope: 'memory', gracePeriodSeconds: undefined });
  expect(bed.lines[0]).toContain('the soft threshold of p in scope memory has been met');
  expect(bed.events.filter((event) => event.includes('EvictionNotified'))).toHaveLength(1);
});

test('candidates for the soft threshold of a plugin in dry run are only counted', async () => {
  const p = bed.plugin('p');
  p.threshold = () => met({ metType: 'SOFT_MET' });
  p.top = () => ({ targetPods: [named(A)] });
  await bed.start({ dryRun: ['p'] });
  await bed.run(A);
  await bed.pass();
  expect(bed.kills.calls).toEqual([]);
  expect(bed.measurements.told.filter((line) => line.startsWith('p ') && line.includes('trial'))).toEqual([]);
  expect(bed.lines).toContain(
    'dry run: p would have a ended: plugin p met threshold in scope memory, target 10, observed 20',
  );
});

test('a plugin with candidates for its threshold is asked to choose among these', async () => {
  const p = bed.plugin('p');
  p.threshold = () => met({ candidatePods: [named(C), named(B)] });
  let shown: readonly string[] = [];
  p.top = ({ activePods, candidateEvictionRecords = [] }) => {
    shown = activePods.pods.map(({ metadata }) => metadata.name);
    expect(candidateEvictionRecords.map(({ uid }) => uid)).toEqual(['b', 'c']);
    return { targetPods: [] };
  };
  await bed.start();
  await bed.run(A, B, C);
  await bed.pass();
  expect(shown).toEqual(['b', 'c']);
});

test('a plugin that has answered in time gets no abort', async () => {
  const p = bed.plugin('p');
  const signals: AbortSignal[] = [];
  p.evicts = ({ signal }) => {
    signals.push(signal);
    return forces();
  };
  await bed.start();
  await bed.pass();
  await bed.ground.clock.advance(4_999);
  expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
});

test('a static pod is refused also by the UID of its mirror pod', async () => {
  const p = bed.plugin('p');
  const mirror: Pod = {
    ...STATIC,
    metadata: {
      ...STATIC.metadata,
      uid: 'uid-of-mirror',
      annotations: { 'kubernetes.io/config.source': 'api', 'kubernetes.io/config.mirror': 'static' },
    },
  };
  p.evicts = () => forces(mirror);
  await bed.start();
  await bed.run(STATIC);
  bed.agent.supervisor.send({ type: 'CONFIG.ADD', source: 'api', pods: [mirror] });
  await bed.pass();
  expect(explained('p')?.refused).toEqual([
    'pod default/static (UID uid-of-mirror) is a static pod: it is never ended for a plugin',
  ]);
});

test('no static, critical or system pod is ever ended, whatever a plugin says', async () => {
  const kept = [STATIC, CRITICAL, SYSTEM];
  const p = bed.plugin('p');
  p.evicts = () => forces(...kept);
  p.threshold = () => met();
  p.top = () => ({ targetPods: [named(CRITICAL)] });
  bed.plugin('q').evicts = () => candidates(...kept);
  await bed.start();
  await bed.run(...kept);
  for (let pass = 0; pass < 3; pass += 1) await bed.pass();
  expect(bed.kills.calls).toEqual([]);
  for (const { metadata } of kept) expect(bed.state(metadata.name)).toBe('Syncing.Settled');
  expect(
    bed.manager
      .view()
      .candidates.map(({ pod, verdict }) => `${pod} ${verdict}`)
      .sort(),
  ).toEqual(['default/critical Stays', 'default/system Stays']);
});

test('a refusal is logged once while it lasts', async () => {
  const p = bed.plugin('p');
  const refusedOne = () => forces({ ...named(A), nodeName: 'node2' });
  p.evicts = refusedOne;
  await bed.start();
  await bed.run(A);
  await bed.pass();
  await bed.pass();
  const line = 'an answer of p is refused: pod default/a (UID a) is one of node node2';
  expect(bed.lines).toEqual([line]);
  expect(explained('p')?.refused).toEqual(['pod default/a (UID a) is one of node node2']);
  expect(bed.measurements.told).toContain('p GetEvictPods: refused');
  p.evicts = () => forces();
  await bed.pass();
  expect(explained('p')?.refused).toEqual([]);
  p.evicts = refusedOne;
  await bed.pass();
  expect(bed.lines).toEqual([line, line]);
});

test.each([1, 2, 3])(
  'entries without a pod are refused with one line, in whatever order a plugin answers them (seed %d)',
  async (seed) => {
    const random = seededRandom(seed);
    const p = bed.plugin('p');
    const entry = { reason: 'it uses too much', forceEvict: false, evictionPluginName: 'p' };
    const strangers = Array.from({ length: 12 }, (_, index) => ({ ...entry, pod: lastingPod(`x${index}`) }));
    const entries = [...strangers, { ...entry, forceEvict: true, pod: A }, entry, entry];
    // As it comes over the wire.
    const answer = () => {
      const evictPods = entries
        .map((one) => ({ one, rank: random.next() }))
        .sort((a, b) => a.rank - b.rank)
        .map(({ one }) => one);
      const bytes = wholeResponses.getEvictPods.encode({ evictPods });
      return getEvictPodsAnswer(namedResponses.getEvictPods.decode(bytes));
    };
    p.evicts = answer;
    await bed.start();
    await bed.run(A);
    await bed.pass();
    const told = bed.lines.filter((line) => line.includes('is refused'));
    expect(told.filter((line) => line.includes('an entry without a pod'))).toEqual([
      'an answer of p is refused: an entry without a pod',
    ]);
    expect(bed.kills.calls).toEqual([['a']]);
    // A late answer, and others in another order, tell nothing anew.
    p.evicts = hangs;
    await bed.ground.clock.advance(7_000);
    await bed.ground.until('the pass to end', () => bed.manager.view().state === 'Waiting');
    p.evicts = answer;
    await bed.untilState('a', 'Terminated.Finished');
    const before = bed.lines.length;
    for (let pass = 0; pass < 3; pass++) await bed.pass();
    const later = bed.lines.slice(before).filter((line) => !line.includes('default/a '));
    expect(later).toEqual([]);
    expect(explained('p')?.refused).toContain('an entry without a pod');
  },
);

test('the answers of a plugin in dry run are counted and shown, and never carried out', async () => {
  const p = bed.plugin('p');
  p.evicts = () => ({ ...forces(A), condition: condition('Hot') });
  p.threshold = () => met({ condition: condition('Hotter') });
  p.top = () => ({ targetPods: [named(B)] });
  await bed.start({ dryRun: ['p'] });
  await bed.run(A, B);
  await bed.pass();
  await bed.pass();
  expect(bed.kills.calls).toEqual([]);
  expect(bed.manager.conditions()).toEqual([]);
  expect(bed.measurements.told.filter((what) => what === 'dry-run victim of p')).toHaveLength(2);
  expect(bed.lines.filter((line) => line.startsWith('dry run: '))).toEqual([
    'dry run: p would have a ended: it uses too much',
    'dry run: p would have b ended: plugin p met threshold in scope memory, target 10, observed 20',
  ]);
  expect(explained('p')).toMatchObject({ isDryRun: true });
});

test('no more than a burst is ended in one pass, and what is not named again is withdrawn', async () => {
  const p = bed.plugin('p');
  p.evicts = () => forces(A, B, C, D);
  await bed.start({ evictionBurst: 2 });
  await bed.run(A, B, C, D);
  await bed.pass();
  expect(bed.kills.calls).toEqual([['a', 'b']]);
  expect(bed.manager.view().queue).toEqual(['default/c', 'default/d']);
  p.evicts = () => forces(D);
  await bed.pass();
  expect(bed.kills.calls).toEqual([['a', 'b'], ['d']]);
  expect(bed.manager.view().queue).toEqual([]);
});

test('a pod whose end takes long is handed over again, and takes no place in a burst', async () => {
  bed.plugin('p').evicts = () => forces(A, B);
  await bed.start({ evictionBurst: 1 });
  await bed.run(A, B);
  bed.kills.end = () => undefined;
  await bed.pass();
  await bed.pass();
  expect(bed.kills.calls).toEqual([['a'], ['a', 'b']]);
});

test('the conditions of plugins count until the transition period is over, and stand on the node', async () => {
  const p = bed.plugin('p');
  p.evicts = () => ({ evictPods: [], condition: condition('Hot') });
  await bed.start({ conditionTransitionPeriodMs: 12_000 });
  expect(bed.firstPasses).toBe(0);
  await bed.pass();
  expect(bed.firstPasses).toBe(1);
  expect(bed.manager.conditions()).toEqual([condition('Hot')]);
  expect(bed.agent.nodeFacts().pluginConditions).toEqual([condition('Hot')]);
  p.evicts = () => forces();
  await bed.pass();
  expect(bed.manager.conditions()).toEqual([condition('Hot')]);
  await bed.pass();
  await bed.pass();
  expect(bed.manager.conditions()).toEqual([]);
  expect(bed.lines).toEqual(['condition Hot holds (NoSchedule)', 'condition Hot is over']);
  expect(bed.firstPasses).toBe(1);
});

test('a candidate that asks for a notice gets it once, and stays', async () => {
  bed.plugin('p').evicts = () => candidates(SHY);
  await bed.start();
  await bed.run(SHY);
  await bed.pass();
  await bed.pass();
  const notices = bed.events.filter((event) => event.includes('EvictionNotified'));
  expect(notices).toEqual([
    expect.stringMatching(
      /^shy Normal EvictionNotified Plugin p would have this pod evicted: it uses too much/,
    ),
  ]);
  expect(bed.kills.calls).toEqual([]);
});

test('a pod with a notice by a file ends after the file is written, also if another plugin forces its end', async () => {
  const told = Promise.withResolvers<undefined>();
  let known: readonly string[] = [];
  bed.notices = {
    notify: (pods) => {
      known = pods.map(({ metadata }) => metadata.name);
      return told.promise;
    },
    stop: () => Promise.resolve(),
  };
  bed.plugin('p').evicts = () => candidates(SHY);
  bed.plugin('q').evicts = () => forces(A, SHY);
  await bed.start();
  await bed.run(A, SHY);
  await bed.ground.clock.advance(PLUGIN_SETTINGS.syncPeriodMs);
  await bed.ground.until('the other pod to be ended', () => bed.kills.calls.length > 0);
  expect([bed.kills.calls, bed.manager.view().state]).toEqual([[['a']], 'Killing']);
  told.resolve(undefined);
  await bed.ground.until('the pass to end', () => bed.manager.view().state === 'Waiting');
  expect([bed.kills.calls, known]).toEqual([
    [['a'], ['shy']],
    ['a', 'shy'],
  ]);
});

describe('plugins are shown', () => {
  test('the pods that have not ended, with their status, ordinary ones of manifests as of the API server', async () => {
    const p = bed.plugin('p');
    await bed.start({ skippedLabels: ['keep'] });
    const skipped = { ...D, metadata: { ...D.metadata, labels: { keep: '' } } };
    await bed.run(A, LOCAL, STATIC, B, skipped);
    bed.agent.supervisor.registry.kill('b');
    await bed.pass();
    const shown = p.shown.pods;
    expect(shown.map(({ metadata }) => metadata.name)).toEqual(['a', 'local', 'static']);
    expect(shown.map(({ status }) => status?.phase)).toEqual(['Running', 'Running', 'Running']);
    expect(shown[1]?.metadata.annotations).toEqual({ 'kubernetes.io/config.source': 'api' });
  });

  test('the same list as before where nothing has changed, in an object of each pass, with which its figures are kept', async () => {
    const p = bed.plugin('p');
    await bed.start();
    await bed.run(A, B);
    await bed.pass();
    const { shown } = p;
    await bed.pass();
    expect(p.shown.pods).toBe(shown.pods);
    expect(p.shown).not.toBe(shown);
    bed.agent.supervisor.registry.kill('b');
    await bed.pass();
    expect(p.shown.pods).toEqual([shown.pods[0]]);
  });
});

test('an ordinary pod of a manifest is ended as others are', async () => {
  bed.plugin('p').evicts = () => forces(LOCAL);
  await bed.start();
  await bed.run(LOCAL);
  await bed.pass();
  expect(bed.kills.calls).toEqual([['local']]);
});

test('an agent that stops does not wait for plugins, and sends them no more requests', async () => {
  const p = bed.plugin('p');
  let told: AbortSignal | undefined;
  p.evicts = ({ signal }) => {
    told = signal;
    return hangs();
  };
  await bed.start();
  await bed.run(A);
  await bed.ground.clock.advance(5_000);
  expect(told?.aborted).toBe(false);
  await bed.stop();
  expect(told?.aborted).toBe(true);
  expect(bed.directory.isStopped).toBe(true);
  await bed.ground.clock.advance(60_000);
  expect(p.questions.filter((question) => question === 'GetEvictPods')).toHaveLength(1);
});

test('kills that fail do not end the manager', async () => {
  bed.plugin('p').evicts = () => forces(A);
  await bed.start();
  await bed.run(A);
  bed.kills.end = () => {
    throw new Error('no such thing');
  };
  await bed.pass();
  expect(bed.lines).toContain('pods could not be ended: no such thing');
  await bed.pass();
  expect(bed.manager.view().state).toBe('Waiting');
});

test('explain-eviction shows plugins also where no threshold of the node is set', async () => {
  bed.plugin('p').evicts = () => candidates(A, B);
  await bed.start();
  await bed.run(A, B);
  await bed.pass();
  const { plugins, thresholds } = (await bed.agent.explainEviction())!;
  expect(thresholds).toEqual([]);
  expect(plugins?.plugins.map(({ name, state }) => [name, state])).toEqual([['p', 'Serving']]);
  expect(plugins?.candidates.map(({ pod, verdict, why }) => [pod, verdict, why])).toEqual([
    ['default/b', 'Stays', 'default/a is less important'],
    ['default/a', 'Goes', 'it is the least important one'],
  ]);
  expect(JSON.parse(JSON.stringify(plugins))).toMatchObject({ state: 'Waiting', awaited: [] });
});

test('a few of many plugins are called at once, and one that hangs delays no other', async () => {
  const plugins = Array.from({ length: 100 }, (_, index) => bed.plugin(`p${index}`));
  const answers: (() => void)[] = [];
  for (const plugin of plugins)
    plugin.evicts = () =>
      new Promise((resolve) => {
        answers.push(() => resolve({ evictPods: [] }));
      });
  await bed.start();
  await bed.run(A);
  await bed.ground.clock.advance(PLUGIN_SETTINGS.syncPeriodMs);
  expect(answers).toHaveLength(32);
  for (const answer of answers.slice(0, 10)) answer();
  await settled();
  expect(answers).toHaveLength(42);
  await bed.ground.clock.advance(100);
  expect(answers).toHaveLength(74);
  await bed.ground.clock.advance(100);
  expect(answers).toHaveLength(100);
  for (const answer of answers) answer();
  await bed.ground.until('the pass to end', () => bed.manager.view().state === 'Waiting');
  expect(bed.directory.told.filter((line) => line.endsWith('answered'))).toHaveLength(100);
});
