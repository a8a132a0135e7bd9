/** A machine that may go down at any time, with two ordinary pods and a critical one. */
import type { SnapshotFrom } from 'xstate';
import { shutdownMachine, type ShutdownEvent } from '../../../src/agent/machines/shutdown-machine.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { testPod } from '../../support/pods.ts';
import type { Environment } from '../paths.ts';

export type ShutdownState = SnapshotFrom<typeof shutdownMachine>;

export const NOW = Date.UTC(2030, 0, 1);
const CRITICAL = 2_000_000_000;
export const PERIODS = [
  { priority: 0, shutdownGracePeriodSeconds: 20 },
  { priority: CRITICAL, shutdownGracePeriodSeconds: 10 },
];

const dns = testPod({ name: 'dns' });
export const PODS: readonly Pod[] = [
  { ...dns, spec: { ...dns.spec, priority: CRITICAL } },
  testPod({ name: 'web' }),
  testPod({ name: 'shop' }),
];

const GROUPS = [
  { priority: 0, seconds: 20, uids: ['uid-of-web', 'uid-of-shop'] },
  { priority: CRITICAL, seconds: 10, uids: ['uid-of-dns'] },
];

const EVENTS = {
  shutdown: { type: 'SHUTDOWN', at: NOW, groups: GROUPS },
  shutdownWithoutPods: { type: 'SHUTDOWN', at: NOW, groups: [] },
  cancelled: { type: 'SHUTDOWN_CANCELLED' },
  webEnded: { type: 'POD_ENDED', uid: 'uid-of-web' },
  shopEnded: { type: 'POD_ENDED', uid: 'uid-of-shop' },
  dnsEnded: { type: 'POD_ENDED', uid: 'uid-of-dns' },
  timeOver: { type: 'GROUP_TIME_OVER' },
} as const satisfies Record<string, ShutdownEvent>;
export type Name = keyof typeof EVENTS;

export const environment: Environment<typeof shutdownMachine> = {
  machine: shutdownMachine,
  input: undefined,
  events: EVENTS,
  possible: (state) => Object.keys(EVENTS).filter((name) => name !== 'timeOver' || isEndingGroup(state)),
  label: (state) => JSON.stringify(essence(state)),
};

export function isEndingGroup(state: ShutdownState): boolean {
  return state.matches({ ShuttingDown: 'EndingGroup' });
}

/** Since when the machine goes down makes no difference to what comes next. */
export function essence({ value, context: { groups, awaited } }: ShutdownState) {
  return { value, groups, awaited };
}
