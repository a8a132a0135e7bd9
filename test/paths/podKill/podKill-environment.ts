/** The events that are possible while a pod is being killed, by whom it is asked of. */
import type { SnapshotFrom } from 'xstate';
import { type PodKillEvent, podKillMachine } from '../../../src/agent/machines/pod-kill-machine.ts';
import type { KillRefusalKind } from '../../../src/agent/policies/eviction-plugins/pod-kill.ts';
import { after } from '../../support/child-events.ts';
import { testPod } from '../../support/pods.ts';
import type { Environment } from '../paths.ts';

export type PodKillState = SnapshotFrom<typeof podKillMachine>;

/** Whom the pod's end is asked of: the API server, which may refuse, or this node, which answers at once. */
export type Asked = 'server' | 'node';

export const POD = testPod();

const refused = (kind: KillRefusalKind): PodKillEvent => ({
  type: 'REFUSED',
  refusal: { kind, problem: kind },
});

/** Grace periods that a plugin may ask for, in seconds. The pod's own is 30. */
export const GRACE = { shorter: 10, shortest: 5, longer: 40 } as const;
const hasten = (wanted: keyof typeof GRACE): PodKillEvent => ({
  type: 'HASTEN',
  gracePeriodSeconds: GRACE[wanted],
});

const EVENTS = {
  taken: { type: 'TAKEN', awaits: 'Object' },
  takenHere: { type: 'TAKEN', awaits: 'Node' },
  /** It is refused, and the pod is ending on this node by then. */
  endingHere: { type: 'ENDING', awaits: 'Node' },
  /** There is no such object any more. */
  absent: { type: 'ENDING', awaits: 'Object' },
  postponed: refused('Postponed'),
  unanswered: refused('Unanswered'),
  forbidden: refused('Refused'),
  retry: after('retry', 'podKill.BackingOff'),
  shorter: hasten('shorter'),
  shortest: hasten('shortest'),
  longer: hasten('longer'),
  overdue: { type: 'OVERDUE', problem: '' },
  terminated: { type: 'POD_TERMINATED' },
  gone: { type: 'POD_GONE' },
  stop: { type: 'STOP' },
} as const satisfies Record<string, PodKillEvent>;
export type PodKillEventName = keyof typeof EVENTS;

const REFUSALS = ['postponed', 'unanswered', 'forbidden'] as const;
const PLUGINS = ['shorter', 'longer'] as const;

export function podKillEnvironment(asked: Asked): Environment<typeof podKillMachine> {
  const { uid, name, namespace } = POD.metadata;
  return {
    machine: podKillMachine,
    input: {
      pod: { uid, name, namespace },
      plugin: 'p',
      reason: 'r',
      killer: asked === 'server' ? 'EvictionAPI' : 'SyncPodKill',
      gracePeriodSeconds: 30,
    },
    events: EVENTS,
    possible: (state) => [...(asked === 'server' ? ofServer(state) : ofNode(state)), ...stopIn(asked, state)],
    // How often a request was refused decides only how long is waited.
    label: ({ value, context }) => [value, ...Object.values({ ...essence(context), failures: 0 })].join(),
  };
}

/** The parts of the context that the actor must agree with. */
export function essence(context: PodKillState['context']) {
  const { gracePeriodSeconds, awaits, hasTerminated, refusal, failures, overdue } = context;
  return {
    gracePeriodSeconds,
    awaits,
    hasTerminated,
    refused: refusal?.kind,
    failures,
    isOverdue: overdue !== undefined,
  };
}

function ofServer({ value, context }: PodKillState): readonly PodKillEventName[] {
  const ends = context.hasTerminated ? (['gone'] as const) : (['terminated', 'gone'] as const);
  switch (value) {
    case 'Requesting':
      return [
        ...(['taken', 'endingHere', 'absent'] as const),
        ...(context.hasTerminated ? [] : REFUSALS),
        ...PLUGINS,
        ...ends,
      ];
    case 'Hastening':
      return ['taken', 'absent', ...REFUSALS, 'shortest', ...PLUGINS, ...ends];
    case 'BackingOff':
      return ['retry', ...PLUGINS, ...ends];
    case 'AwaitingEnd':
      return ['overdue', ...PLUGINS, ...ends];
    case 'Overdue':
      return [...PLUGINS, ...ends];
    default:
      return [];
  }
}

function stopIn(asked: Asked, state: PodKillState): readonly PodKillEventName[] {
  const isOver = state.value === 'Ended' || state.value === 'Stopped';
  return isOver || isPassedAtOnce(asked, state) ? [] : ['stop'];
}

/** The answer comes at once, perhaps after the end of the pod: nothing else can happen before it. */
function ofNode({ value, context }: PodKillState): readonly PodKillEventName[] {
  switch (value) {
    case 'Requesting':
    case 'Hastening':
      return context.hasTerminated ? ['takenHere'] : ['takenHere', 'terminated'];
    case 'AwaitingEnd':
      return ['overdue', ...PLUGINS, 'terminated', 'gone'];
    case 'Overdue':
      return [...PLUGINS, 'terminated', 'gone'];
    default:
      return [];
  }
}

/** The actor is never seen in such a state: it leaves it in the same turn. */
export function isPassedAtOnce(asked: Asked, { value }: PodKillState): boolean {
  return asked === 'node' && (value === 'Requesting' || value === 'Hastening');
}
