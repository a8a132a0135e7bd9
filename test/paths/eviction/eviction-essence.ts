/** The parts of events and states that are compared: pods by their roles. Texts and figures are tested with the policies. */
import type { EvictionEvent } from '../../../src/machines/eviction-machine.ts';
import { type EvictionSnapshot, type Role, roleOf } from './eviction-environment.ts';

export function isSame(a: EvictionEvent, b: EvictionEvent): boolean {
  return isEqual(essence(a), essence(b));
}

export function isEqual(a: object, b: object): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

export function essence(event: EvictionEvent): object {
  const { type } = event;
  switch (type) {
    case 'EVALUATED': {
      const { conditions, observedConditions, overLimit, shortage } = event.evaluation;
      const over = overLimit.map(({ pod }) => roleOf(pod.uid));
      return { type, conditions, observedConditions, over, resource: shortage?.resource };
    }
    case 'NODE_RECLAIMED':
      return { type, resource: event.shortage?.resource };
    case 'RANKED':
      return { type, victim: victimOf(event.choice) };
    default:
      return 'uid' in event ? { type, role: plainRole(event.uid) } : { type };
  }
}

export function facts({ value, context }: EvictionSnapshot): object {
  const { shortage, choice, evictions, awaited, ended, unendable, doubtsLeft } = context;
  return {
    value,
    resource: shortage?.resource,
    victim: victimOf(choice),
    evictions: evictions.map(({ pod }) => roleOf(pod.uid)),
    awaited: awaited.map(roleOf),
    ended: ended.map(roleOf),
    unendable: unendable.map(roleOf),
    doubtsLeft,
  };
}

/** For the machine, a pod that was ending already is a pod that is not evicted, like any other. */
function plainRole(uid: string): Role {
  const role = roleOf(uid);
  return role === 'leaving' ? 'stranger' : role;
}

function victimOf(choice: EvictionSnapshot['context']['choice']): Role | undefined {
  return choice?.eviction && roleOf(choice.eviction.pod.uid);
}
