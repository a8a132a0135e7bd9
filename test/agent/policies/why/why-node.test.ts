import { expect, test } from '@jest/globals';
import { chooseVictim, evaluateEviction } from '../../../../src/agent/policies/eviction/pass.ts';
import {
  evictionChoice,
  type PressureFacts,
  whyNode,
  whyPressure,
} from '../../../../src/agent/policies/why/why-node.ts';
import { requestingPod } from '../../../support/admission.ts';
import { factsWith, settingsWith, summaryOf, thresholds, usingMemory } from '../../../support/eviction.ts';

const NOW = Date.UTC(2030, 0, 1, 10, 32);
const QUIET = {
  name: 'node-a',
  problems: [],
  conditions: [],
  states: ['Sources.Ready', 'Runtime.Ready', 'Loop.Running'],
  nowMs: NOW,
  pods: 1,
  waiting: [],
  ending: [],
};

test('a node that is ready says how many pods it has', () => {
  expect(whyNode(QUIET)).toEqual({
    subject: 'node node-a',
    state: 'Ready',
    sentences: ['Node node-a is ready.', '1 pod is here.'],
  });
});

test('a node that is not ready says why, what waits for it and what ends', () => {
  const waiting = ['a/1', 'a/2', 'a/3', 'a/4', 'a/5', 'a/6'];
  const { sentences } = whyNode({
    ...QUIET,
    problems: ['container runtime is down'],
    conditions: ['MemoryPressure'],
    states: ['Sources.Gathering', 'Runtime.NotReady', 'Loop.Running'],
    pods: 7,
    waiting,
    ending: ['b/1'],
  });
  expect(sentences).toEqual([
    'Node node-a is not ready: container runtime is down.',
    'Not every source of pods has been read: nothing is removed.',
    'The container runtime is not ready: no pod is started or synced.',
    'It is under pressure: MemoryPressure.',
    '7 pods are here, 6 of them waiting (a/1, a/2, a/3, a/4, a/5 and 1 more), 1 ending (b/1).',
  ]);
});

const SETTINGS = settingsWith({ thresholds: thresholds({ evictionHard: { 'memory.available': '100Mi' } }) });

const PODS = ['a', 'b', 'c'].map((name, index) => requestingPod(name, { priority: index }));

const SHORT = summaryOf({ memory: 50, nowMs: NOW - 37_000 }, [
  usingMemory('a', 100),
  usingMemory('b', 200),
  usingMemory('c', 300),
]);

const NODE = {
  name: 'n',
  problems: [],
  conditions: ['MemoryPressure'],
  states: [],
  pods: 3,
  waiting: [],
  ending: [],
  nowMs: NOW,
};

function underPressure(): PressureFacts {
  const facts = factsWith({ settings: SETTINGS, nowMs: NOW - 37_000, summary: SHORT, pods: PODS });
  const { state, shortage } = evaluateEviction(facts);
  if (shortage === undefined) throw new Error('nothing is short');
  const choice = chooseVictim({ ...facts, shortage });
  return { state, choice, evictions: choice.eviction ? [choice.eviction] : [] };
}

test.each([
  ['25%', 200.5, 'memory.available 200.5Mi < 256Mi'],
  ['209772Ki', 204.8125, 'memory.available 209728Ki < 209772Ki'],
])(
  'what is short is said in few digits, and exactly where these would be the same: %s of %d',
  (limit, left, said) => {
    const settings = settingsWith({
      thresholds: thresholds({ evictionHard: { 'memory.available': limit } }),
    });
    const summary = summaryOf({ memory: left, nowMs: NOW });
    const { state } = evaluateEviction(factsWith({ settings, nowMs: NOW, summary }));
    const pressure = { state, choice: undefined, evictions: [] };
    expect(whyNode({ ...NODE, pressure }).sentences.join(' ')).toContain(`What is short: ${said} (hard)`);
  },
);

test('a node under pressure says which threshold is met, since when, who went last and who would be next', () => {
  const pressure = underPressure();
  const { sentences, pressure: shown } = whyNode({ ...NODE, pressure });
  expect(sentences).toEqual([
    'Node n is ready.',
    'It is under pressure: MemoryPressure.',
    'What is short: memory.available 50Mi < 100Mi (hard) since 10:31:23Z (37s ago).',
    'Evicted last: default/a.',
    'Next by the latest ranking: default/b, default/c.',
    '3 pods are here.',
  ]);
  expect(shown).toEqual({
    thresholds: [
      {
        signal: 'memory.available',
        isHard: true,
        threshold: '<100Mi',
        observed: '50Mi',
        since: '2030-01-01T10:31:23.000Z',
      },
    ],
    lastEvicted: ['default/a'],
    next: ['default/b', 'default/c'],
  });
});

test('pressure that is over but still holds says until when its threshold was met', () => {
  const before = underPressure();
  const enough = summaryOf({ memory: 5_000, nowMs: NOW });
  const { state, conditions } = evaluateEviction(
    factsWith({ settings: SETTINGS, state: before.state, nowMs: NOW, summary: enough }),
  );
  const { sentences } = whyNode({ ...NODE, conditions, pressure: { ...before, state } });
  expect(sentences).toContain(
    'MemoryPressure holds for a while: its threshold was met until 10:31:23Z (37s ago).',
  );
});

test('without pressure there is no sentence about it', () => {
  expect(whyNode({ ...NODE, conditions: [], pressure: underPressure() })).not.toHaveProperty('pressure');
});

test('the choice of a pod that was evicted last is known, with its order', () => {
  const pressure = underPressure();
  expect(evictionChoice(pressure, 'a')).toEqual({
    how: pressure.choice?.why,
    order: ['default/a', 'default/b', 'default/c'],
  });
  expect(evictionChoice(pressure, 'b')).toBeUndefined();
  expect(whyPressure({ ...pressure, choice: undefined }).next).toEqual([]);
});
