import { describe, expect, test } from '@jest/globals';
import { podWith, problemsOf } from '../support.ts';

const NODES = 'requiredDuringSchedulingIgnoredDuringExecution';
const NODE_PATH = `spec.affinity.nodeAffinity.${NODES}.nodeSelectorTerms[0]`;

function nodeTerm(term: object) {
  return podWith({ affinity: { nodeAffinity: { [NODES]: { nodeSelectorTerms: [term] } } } });
}

describe('a toleration', () => {
  test.each<[object, string[]]>([
    [{ operator: 'Exists' }, []],
    [{ key: 'a', operator: 'Equal', value: 'b' }, []],
    [{ effect: 'NoSchedule' }, ['operator: must be Exists where there is no key: it tolerates all taints']],
    [
      { key: 'a', operator: 'Exists', effect: 'NoSchedule', tolerationSeconds: 5 },
      ['effect: must be NoExecute where there are tolerationSeconds'],
    ],
    [{ key: 'a', operator: 'Exists', value: 'b' }, ['value: must be left out where the operator is Exists']],
    [
      { key: 'a', value: 'a b' },
      ["value: must be a label's value (at most 63 of letters, digits, '-', '_' and '.')"],
    ],
  ])('%j', (toleration, messages) => {
    expect(problemsOf(podWith({ tolerations: [toleration] }))).toEqual(
      messages.map((message) => `spec.tolerations[0].${message}`),
    );
  });
});

describe('node affinity', () => {
  test.each<[object, string[]]>([
    [{ key: 'zone', operator: 'In', values: ['a'] }, []],
    [{ key: 'zone', operator: 'In', values: [] }, ['values: must not be empty where the operator is In']],
    [
      { key: 'zone', operator: 'Exists', values: ['a'] },
      ['values: must be left out where the operator is Exists'],
    ],
    [
      { key: 'cores', operator: 'Gt', values: ['1', '2'] },
      ['values: must have exactly one item where the operator is Gt'],
    ],
    [
      { key: 'a b', operator: 'Exists' },
      ["key: must be a qualified name such as 'app' or 'example.com/app'"],
    ],
  ])('matchExpressions %j', (expression, messages) => {
    expect(problemsOf(nodeTerm({ matchExpressions: [expression] }))).toEqual(
      messages.map((message) => `${NODE_PATH}.matchExpressions[0].${message}`),
    );
  });

  test.each<[object, string[]]>([
    [{ key: 'metadata.name', operator: 'In', values: ['node-1'] }, []],
    [
      { key: 'spec.name', operator: 'In', values: ['node-1'] },
      ['key: must be metadata.name: a node is chosen by no other field'],
    ],
    [{ key: 'metadata.name', operator: 'Exists' }, ['operator: must be In or NotIn']],
    [{ key: 'metadata.name', operator: 'In', values: ['a', 'b'] }, ['values: must have exactly one item']],
  ])('matchFields %j', (field, messages) => {
    expect(problemsOf(nodeTerm({ matchFields: [field] }))).toEqual(
      messages.map((message) => `${NODE_PATH}.matchFields[0].${message}`),
    );
  });
});

test('a label selector of pod affinity follows the rules of label selectors', () => {
  const labelSelector = { matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['a b'] }] };
  const term = { labelSelector, topologyKey: 'zone' };
  expect(problemsOf(podWith({ affinity: { podAntiAffinity: { [NODES]: [term] } } }))).toEqual([
    `spec.affinity.podAntiAffinity.${NODES}[0].labelSelector.matchExpressions[0].values: ` +
      "must be labels' values (at most 63 of letters, digits, '-', '_' and '.')",
  ]);
});

test('two topology constraints differ in topologyKey or in whenUnsatisfiable', () => {
  const constraint = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' };
  const other = { ...constraint, whenUnsatisfiable: 'ScheduleAnyway' };
  expect(problemsOf(podWith({ topologySpreadConstraints: [constraint, other, constraint] }))).toEqual([
    'spec.topologySpreadConstraints[2].topologyKey: is already used by spec.topologySpreadConstraints[0]',
  ]);
});
