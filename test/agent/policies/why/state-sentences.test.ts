import { expect, test } from '@jest/globals';
import type { AnyStateNode } from 'xstate';
import { machines } from '../../../../src/agent/machines/index.ts';
import { statesWithSentence, stateSentence } from '../../../../src/agent/policies/why/state-sentences.ts';

function leaves({ path, states }: AnyStateNode): readonly string[] {
  const inner = Object.values(states) as AnyStateNode[];
  return inner.length === 0 ? [path.join('.')] : inner.flatMap(leaves);
}

test.each(Object.entries(machines))(
  'each state of the chart %s has its sentence, and no other',
  (name, machine) => {
    expect([...statesWithSentence(name)].toSorted()).toEqual([...leaves(machine.root)].toSorted());
  },
);

test('a state that is none has no sentence', () => {
  expect(stateSentence('pod', 'Syncing')).toBeUndefined();
  expect(stateSentence('none', 'Idle')).toBeUndefined();
});
