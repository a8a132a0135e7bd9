/** The events of the Node object's chart: from its timers, from the watch, and from the answers of the API server. */
import type { SnapshotFrom } from 'xstate';
import { type NodeEvent, nodeMachine } from '../../../src/machines/node-machine.ts';
import { OTHER_IDENTITY } from '../../support/machine-facts.ts';
import { refusal } from '../../support/node-api.ts';
import type { Environment } from '../paths.ts';

export type NodeState = SnapshotFrom<typeof nodeMachine>;

export const NOW = Date.UTC(2030, 0, 1);
export const LEASE_SECONDS = 40;
/** Of the Node object; another one after it was made anew. */
export const UIDS = { first: 'a', second: 'b' } as const;
/** Quick looks end two minutes after the registration: the last one that is made, and a report after them. */
const LAST_QUICK_LOOK_MS = 119_950;
const AFTER_QUICK_LOOKS_MS = 130_000;
/** So often a lease is seen unchanged before its machine counts as silent. */
const SILENT_LOOKS = 4;
/** Longer than a lease is valid and some looks. */
const LONG_SILENCE_MS = 100_000;

const failure = { problem: refusal('InternalError').message, now: NOW };
const { machineID, systemUUID, bootID } = OTHER_IDENTITY;
const OTHER = `machine ID ${machineID}, system UUID ${systemUUID}, boot ID ${bootID}`;
const reported = (uid: string, isReady: boolean, afterMs = 0): NodeEvent => ({
  type: 'REPORTED',
  uid,
  isReady,
  now: NOW + afterMs,
});

export const EVENTS = {
  start: { type: 'START', now: NOW },
  due: { type: 'DUE', now: NOW },
  news: { type: 'REPORT_NOW' },
  quickLook: { type: 'QUICK_LOOK', isReady: false, now: NOW + 100 },
  quickLookReady: { type: 'QUICK_LOOK', isReady: true, now: NOW + 100 },
  created: { type: 'REGISTERED', uid: UIDS.first, now: NOW },
  adopted: { type: 'REGISTERED', uid: UIDS.first, now: NOW },
  refused: { type: 'REGISTRATION_FAILED', ...failure },
  found: { type: 'NODE_FOUND', uid: UIDS.first, now: NOW },
  missing: { type: 'NODE_MISSING', now: NOW },
  unread: { type: 'LOOK_FAILED', ...failure },
  ready: reported(UIDS.first, true),
  unready: reported(UIDS.first, false),
  unreadyLongAfter: reported(UIDS.first, false, AFTER_QUICK_LOOKS_MS),
  /** The Node object was made anew, just before the quick looks end. */
  unreadyAnew: reported(UIDS.second, false, LAST_QUICK_LOOK_MS),
  readyAnew: reported(UIDS.second, true, AFTER_QUICK_LOOKS_MS),
  unreported: { type: 'REPORT_FAILED', ...failure },
  taken: { type: 'OTHER_MACHINE', other: OTHER, now: NOW },
  noLease: { type: 'OTHER_SEEN', version: undefined, now: NOW },
  renewedLease: { type: 'OTHER_SEEN', version: '1', now: NOW },
  renewedAgain: { type: 'OTHER_SEEN', version: '2', now: NOW },
  silence: { type: 'OTHER_SEEN', version: undefined, now: NOW + LONG_SILENCE_MS },
} as const satisfies Record<string, NodeEvent>;
export type Name = keyof typeof EVENTS;

export function nodeEnvironment(registersItself: boolean): Environment<typeof nodeMachine> {
  return {
    machine: nodeMachine,
    input: { registersItself, leaseDurationSeconds: LEASE_SECONDS, now: NOW },
    events: EVENTS,
    possible,
    label: nodeLabel,
  };
}

/** What decides what comes next. Only the tries of a report are counted. */
function nodeLabel(state: NodeState): string {
  const name = stateName(state);
  const { uid, failures, reportsAgain, lease, mayTakeOver } = essence(state);
  const tries = name.endsWith('Reporting') ? failures : 0;
  return [name, tries, uid, reportsAgain, lease, mayTakeOver].join();
}

export function stateName({ value }: NodeState): string {
  return typeof value === 'string' ? value : Object.entries(value).flat().join('.');
}

/** The parts of the context that are compared. */
export function essence({ context }: NodeState) {
  const { uid, writtenUid, isReady, failures, reportsAgain, other, otherLease, mayTakeOver, problem } =
    context;
  const lease = otherLease && `${otherLease.version === undefined ? 'none' : 'renewed'} ${otherLease.looks}`;
  return {
    uid,
    writtenUid,
    isReady,
    failures,
    reportsAgain,
    other,
    lease,
    mayTakeOver,
    problem,
  };
}

function possible(state: NodeState): readonly Name[] {
  const { uid, otherLease, mayTakeOver } = state.context;
  switch (stateName(state)) {
    case 'Idle':
      return ['start'];
    case 'Registering.BackingOff':
      return ['due', 'news'];
    case 'Registering.Trying':
      return ['created', 'adopted', 'refused', ...(mayTakeOver ? [] : (['taken'] as const)), 'news'];
    case 'AwaitingNode.Looking':
      return ['found', 'missing', 'unread', ...(mayTakeOver ? [] : (['taken'] as const)), 'news'];
    case 'Registered.Reporting':
      return ['news', 'missing', 'unreported', ...(mayTakeOver ? [] : (['taken'] as const)), ...reports(uid)];
    case 'Registered.AwaitingReadiness':
      return ['quickLook', 'quickLookReady', 'due', 'news'];
    case 'OtherMachine.Looking': {
      const { version, looks = 0 } = otherLease ?? {};
      const isSilent = version === undefined && looks === SILENT_LOOKS - 1;
      return [
        isSilent ? 'silence' : 'noLease',
        version === '1' ? 'renewedAgain' : 'renewedLease',
        'found',
        'missing',
        'unread',
      ];
    }
    default:
      return ['due', 'news'];
  }
}

/** After the object was made anew, the quick looks are over. */
function reports(uid: string | undefined): readonly Name[] {
  return uid === UIDS.second
    ? ['readyAnew']
    : ['ready', 'unready', 'unreadyLongAfter', 'unreadyAnew', 'readyAnew'];
}
