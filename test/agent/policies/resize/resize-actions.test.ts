import { expect, test } from '@jest/globals';
import {
  computeResizeActions,
  type ContainerUpdate,
  inOneOrder,
} from '../../../../src/agent/policies/resize/resize-actions.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import type { RuntimePodStatus } from '../../../../src/types/runtime-pod.ts';

const RESOURCES = ['memory', 'cpu'] as const;
/** What a container may have instead of `2`: less, as much, more. */
const AMOUNTS = ['1', '2', '3'] as const;
const CHANGES = AMOUNTS.flatMap((memory) => AMOUNTS.map((cpu) => ({ memory, cpu })));

function updatesOf(changes: typeof CHANGES) {
  const containers = changes.map((limits, index) => ({ name: `c${index}`, resources: { limits } }));
  const pod: Pod = { metadata: { name: 'pod', namespace: 'default', uid: 'uid' }, spec: { containers } };
  const running = containers.map(({ name }) => ({ id: name, name, state: 'running' }));
  const one = { limits: { memory: '2', cpu: '2' } };
  const actuated = { containers: Object.fromEntries(containers.map(({ name }) => [name, one])) };
  return computeResizeActions(pod, { containers: running } as unknown as RuntimePodStatus, actuated).updates;
}

function permutations<T>(items: readonly T[]): readonly (readonly T[])[] {
  if (items.length === 0) return [[]];
  return items.flatMap((item) =>
    permutations(items.filter((other) => other !== item)).map((rest) => [item, ...rest]),
  );
}

/** Whether those that give back come before those that take, of both resources. */
function isInOrder(updates: readonly ContainerUpdate[]): boolean {
  return RESOURCES.every((resource) => {
    const signs = updates
      .map(({ current, desired }) => Math.sign(desired[`${resource}Limit`] - current[`${resource}Limit`]))
      .filter((sign) => sign !== 0);
    return signs.every((sign, index) => index === 0 || sign >= (signs[index - 1] ?? 0));
  });
}

test('containers whose resources change in any ways are in one order wherever there is one', () => {
  let [ordered, without] = [0, 0];
  for (const one of CHANGES)
    for (const two of CHANGES)
      for (const three of CHANGES) {
        const updates = updatesOf([one, two, three]);
        const order = inOneOrder(updates);
        const ids = new Set([...updates.memory, ...updates.cpu].map(({ id }) => id));
        if (order === undefined) {
          without++;
          const all = [...new Map([...updates.memory, ...updates.cpu].map((it) => [it.id, it])).values()];
          expect(permutations(all).some(isInOrder)).toBe(false);
        } else {
          ordered++;
          expect(isInOrder(order)).toBe(true);
          expect(order.map(({ id }) => id).toSorted()).toEqual([...ids].toSorted());
        }
      }
  expect([ordered, without].every((count) => count > 0)).toBe(true);
});
