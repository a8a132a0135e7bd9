/** Each wrong choice for plugins is reported, and a right one is not. */
import { describe, expect, test } from '@jest/globals';
import type { AskedCall } from '../../../../src/simulation/plugins/simulated-plugin.ts';
import type { PluginJudge } from '../../../../src/simulation/judges/plugins/plugin-judge.ts';
import { SKIPPED_ANNOTATION } from '../../../../src/simulation/plugins/plugins-plan.ts';
import { evictionKill } from '../../../../src/agent/policies/eviction/eviction-message.ts';
import type {
  EvictPod,
  NamedPod,
  PluginCondition,
  ThresholdMetAnswer,
} from '../../../../src/types/eviction-plugin.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import {
  condition,
  met,
  named,
  NOT_MET,
  PLUGIN_SETTINGS,
  ruled,
  wanted,
} from '../../../support/eviction-plugins.ts';
import { AdmissionJudgeBed, critical, pod } from '../admission-judge-bed.ts';
import { killed } from '../lifecycle-judge-bed.ts';

const SETTINGS = { ...PLUGIN_SETTINGS, syncPeriodMs: 5_000, timeoutMs: 1_000, evictionBurst: 1 };

class PluginCourt {
  /** What the agent counts. */
  conditions: readonly string[] = [];
  readonly bed: AdmissionJudgeBed;
  readonly pods: Pod[] = [];

  constructor() {
    this.bed = new AdmissionJudgeBed([], undefined, {
      plan: { settings: SETTINGS, onTrial: new Set(['trial']), builtIn: [], sockets: [] },
      nodeName: 'here',
      conditions: () => this.conditions,
      onChosen: () => undefined,
      onCondition: () => undefined,
      hadNoExecute: () => false,
    });
  }

  get judge(): PluginJudge {
    return this.bed.judge.plugins!;
  }

  running(one: Pod) {
    this.pods.push(one);
    return this.bed.admitted(one);
  }

  begins(): void {
    this.bed.nowMs += SETTINGS.syncPeriodMs;
    this.judge.hears({ type: 'PASS_DUE', plugins: [], nowMs: this.bed.nowMs });
  }

  asks(plugin: string, call: AskedCall, answer: unknown, topN = 1): void {
    const question = { activePods: { pods: this.pods }, signal: new AbortController().signal, topN };
    this.judge.asked(plugin, call, question)(answer);
  }

  /** The soft threshold of the plugin is met, and it is asked for candidates, or for so many pods. */
  namesSoftly(plugin: string, scope: string, pods: readonly Pod[], topN = 0): void {
    this.asks(plugin, 'ThresholdMet', met<NamedPod>({ metType: 'SOFT_MET', scope }));
    this.asks(plugin, 'GetTopEvictionPods', { targetPods: pods.map((one) => named(one)) }, topN);
  }

  names(plugin: string, ...evictPods: EvictPod<NamedPod>[]): void {
    this.asks(plugin, 'GetEvictPods', { evictPods });
  }

  chooses(...chosen: readonly (readonly [pod: Pod, plugin: string])[]): void {
    const ending = chosen.map(([one, plugin]) => ruled(one, { plugin }));
    const event = {
      type: 'CHOSEN',
      choice: { candidates: [], ending, queued: [], underWay: [], notified: [], dryRun: [] },
    } as const;
    this.judge.hears(event);
    this.judge.shows(event);
  }
}

const names = (one: Pod, more: Partial<EvictPod<NamedPod>> = {}) => wanted(named(one), more);
const killedFor = (plugin: string, seconds = 5) => {
  const message = `Eviction plugin ${plugin} chose this pod: it uses too much`;
  return { type: 'SyncPodKill', options: evictionKill(message, seconds, { isDisrupted: true }) } as const;
};

test('a pod that a plugin has named is chosen, killed, and ends', async () => {
  const court = new PluginCourt();
  const a = pod('a');
  const running = court.running(a);
  court.begins();
  court.names('p', names(a));
  court.chooses([a, 'p']);
  expect(court.judge.unrest).toMatchObject({ uid: 'a', what: 'was chosen by p, and has not ended' });
  running.send(killedFor('p'));
  expect(await court.bed.reported()).toEqual([]);
});

describe('a choice is reported', () => {
  const named = 'which has not named it in this pass';
  const cases: readonly (readonly [string, (court: PluginCourt) => void, string])[] = [
    [
      'of a pod that no plugin has named',
      (court) => {
        court.running(pod('a'));
        court.begins();
        court.names('p');
        court.chooses([pod('a'), 'p']);
      },
      `a: is ended for p, ${named}`,
    ],
    [
      'of a pod that only a plugin in dry run has named',
      (court) => {
        court.running(pod('a'));
        court.begins();
        court.names('trial', names(pod('a')));
        court.chooses([pod('a'), 'trial']);
      },
      'a: is ended for trial, which is in dry run',
    ],
    [
      'of a critical pod',
      (court) => {
        court.running(critical('a'));
        court.begins();
        court.names('p', names(critical('a')));
        court.chooses([critical('a'), 'p']);
      },
      'a: is static or critical, and is ended for p',
    ],
    [
      'of a pod that is ending',
      (court) => {
        const running = court.running(pod('a'));
        court.begins();
        court.names('p', names(pod('a')));
        running.send(killed());
        court.chooses([pod('a'), 'p']);
      },
      'a: is ended for p in Syncing.Draining',
    ],
    [
      'of a pod that was chosen already',
      (court) => {
        court.running(pod('a'));
        for (let pass = 1; pass <= 2; pass++) {
          court.begins();
          court.names('p', names(pod('a')));
          court.chooses([pod('a'), 'p']);
        }
      },
      'a: is ended for p, and was chosen already',
    ],
    [
      'of more pods than the burst allows',
      (court) => {
        for (const name of ['a', 'b']) court.running(pod(name));
        court.begins();
        court.names('p', names(pod('a')), names(pod('b')));
        court.chooses([pod('a'), 'p'], [pod('b'), 'p']);
      },
      ': 2 pods are ended at once: more than 1',
    ],
    [
      'of the more important one of two candidates',
      (court) => {
        for (const name of ['a', 'b']) court.running(pod(name));
        court.begins();
        const soft = { forceEvict: false };
        court.names('p', names(pod('a'), soft), names(pod('b'), soft));
        court.chooses([pod('b'), 'p']);
      },
      'b: is ended, though a is less important',
    ],
    [
      'of no pod, though one is to go in any case',
      (court) => {
        court.running(pod('a'));
        court.begins();
        court.names('p', names(pod('a')));
        court.chooses();
      },
      'a: is to go in any case, and is not ended for a plugin',
    ],
    [
      'by an answer that came late',
      (court) => {
        court.running(pod('a'));
        court.begins();
        const question = { activePods: { pods: court.pods }, signal: new AbortController().signal };
        const told = court.judge.asked('p', 'GetEvictPods', question);
        court.bed.nowMs += SETTINGS.timeoutMs;
        told({ evictPods: [names(pod('a'))] });
        court.chooses([pod('a'), 'p']);
      },
      `a: is ended for p, ${named}`,
    ],
    [
      'for a threshold whose grace period is not over',
      (court) => {
        court.running(pod('a'));
        court.begins();
        court.asks('p', 'ThresholdMet', met<NamedPod>({ gracePeriodSeconds: 3 }));
        court.asks('p', 'GetTopEvictionPods', { targetPods: [] });
        court.chooses();
      },
      ': p is asked for a pod before its time',
    ],
  ];

  test.each(cases)('%s', async (_, happens, problem) => {
    const court = new PluginCourt();
    happens(court);
    expect(await court.bed.reported()).toContain(`plugins ${problem}`);
  });
});

test('a pod that is kept from plugins must not be shown, and each other one must be', async () => {
  const court = new PluginCourt();
  const { metadata, ...rest } = pod('a');
  court.running({ ...rest, metadata: { ...metadata, annotations: { [SKIPPED_ANNOTATION]: '' } } });
  court.bed.admitted(pod('b'));
  court.begins();
  court.names('p');
  expect(await court.bed.reported()).toEqual([
    'plugins a: is shown to p, and must not be',
    'plugins b: is not shown to p',
  ]);
});

test('a pass must not begin beside another one, nor too early', async () => {
  const court = new PluginCourt();
  court.begins();
  court.judge.hears({ type: 'PASS_DUE', plugins: [], nowMs: court.bed.nowMs });
  court.chooses();
  court.judge.hears({ type: 'PASS_DUE', plugins: [], nowMs: court.bed.nowMs });
  expect(await court.bed.reported()).toEqual([
    'plugins : plugins are asked in two passes at once',
    'plugins : plugins are asked too early',
  ]);
});

describe('of the candidates for soft thresholds', () => {
  const [a, b] = [pod('a'), pod('b')];
  const choosing = async (chosen: Pod, ask: (court: PluginCourt) => void) => {
    const court = new PluginCourt();
    for (const one of [a, b]) court.running(one);
    court.begins();
    ask(court);
    court.chooses([chosen, 'p']);
    return court.bed.reported();
  };

  test('one goes, whatever its place in the answer', async () => {
    const asked = (court: PluginCourt) => court.namesSoftly('p', 'memory', [b, a]);
    expect(await choosing(a, asked)).toEqual([]);
    expect(await choosing(b, asked)).toEqual(['plugins b: is ended, though a is less important']);
  });

  test('what it was named for counts before its name', async () => {
    const asked = (court: PluginCourt) => {
      court.namesSoftly('p', 'numa', [b]);
      court.namesSoftly('q', 'memory', [a]);
    };
    expect(await choosing(b, asked)).toEqual([]);
  });

  test('a plugin that is asked as for a hard one is reported', async () => {
    const asked = (court: PluginCourt) => court.namesSoftly('p', 'memory', [a], 1);
    expect(await choosing(a, asked)).toEqual(['plugins : p is asked for 1 pods, not 0']);
  });
});

test('a condition counts for the transition period, also when it is not reported any more', async () => {
  const court = new PluginCourt();
  const reports = (one?: PluginCondition) => {
    court.begins();
    const answer: ThresholdMetAnswer<NamedPod> = { ...NOT_MET };
    court.asks(
      'p',
      'ThresholdMet',
      one === undefined ? answer : met<NamedPod>({ condition: one, gracePeriodSeconds: 3600 }),
    );
    court.chooses();
  };
  court.conditions = ['Full'];
  reports(condition('Full'));
  reports();
  expect(await court.bed.reported()).toEqual([]);
  court.conditions = [];
  reports();
  expect(await court.bed.reported()).toEqual(['plugins : the conditions are none, and should be Full']);
});

test('a pod that is killed for a plugin was chosen, for that plugin, and gets one kill', async () => {
  const court = new PluginCourt();
  const running = court.running(pod('a'));
  running.send(killedFor('p'));
  expect(await court.bed.reported()).toEqual(['plugins a: is ended for p, and was not chosen']);
});
