/** The events of a probe: from the status of the pod, from its timer, and from the ends of its runs. */
import type { SnapshotFrom } from 'xstate';
import { probeMachine, type ProbeEvent } from '../../../src/agent/machines/probe-machine.ts';
import type {
  ProbeKind,
  ProbeOutcome,
  ProbeRecord,
  Sighting,
} from '../../../src/agent/policies/probes/probe.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { HEALTH_COMMAND, LASTING_COMMAND } from '../path-node.ts';
import type { Environment } from '../paths.ts';

export type ProbeState = SnapshotFrom<typeof probeMachine>;

export const UID = 'uid-of-probed';
/** Of equal outcomes in a row. Further equal outcomes make no difference. */
const THRESHOLD = 2;
const AGENT_STARTED_AT = Date.UTC(2030, 0, 1);
/** When the two instances of the container start: long after one another. */
const STARTED_AT = { c1: AGENT_STARTED_AT + 60_000, c2: AGENT_STARTED_AT + 600_000 };
/** Events come this long after the start of the instance. */
const LATER_MS = 60_000;
export const INITIAL_DELAY_MS = 3_000;

export function probedPod(kind: ProbeKind): Pod {
  const probe = {
    exec: { command: HEALTH_COMMAND },
    initialDelaySeconds: INITIAL_DELAY_MS / 1000,
    periodSeconds: 10,
    successThreshold: kind === 'readiness' ? THRESHOLD : 1,
    failureThreshold: THRESHOLD,
  };
  return {
    metadata: { name: 'probed', namespace: 'default', uid: UID },
    spec: {
      containers: [{ name: 'main', command: LASTING_COMMAND, [`${kind}Probe`]: probe }],
      restartPolicy: 'OnFailure',
    },
  };
}

/** The newest instance of the container, and its state. `over`: the instance has ended, and the pod has succeeded. */
export interface World {
  readonly id: 'c1' | 'c2';
  readonly state: 'running' | 'ended' | 'over';
}

export type Happening =
  | { readonly type: 'STATUS'; readonly world?: World; readonly isUnknown?: boolean }
  /** The timer has run out. `world`: how it really is by now, which the pod's status may not have shown yet. */
  | { readonly type: 'DUE'; readonly world: World; readonly isYoung?: boolean }
  | { readonly type: 'AT_REST'; readonly world: World }
  | { readonly type: 'PROBED'; readonly outcome: ProbeOutcome }
  | { readonly type: 'STOP' };

const world = (id: World['id'], state: World['state'] = 'running'): World => ({ id, state });

export const HAPPENINGS = {
  noStatus: { type: 'STATUS', isUnknown: true },
  notCreated: { type: 'STATUS' },
  running1: { type: 'STATUS', world: world('c1') },
  ended1: { type: 'STATUS', world: world('c1', 'ended') },
  over1: { type: 'STATUS', world: world('c1', 'over') },
  running2: { type: 'STATUS', world: world('c2') },
  ended2: { type: 'STATUS', world: world('c2', 'ended') },
  over2: { type: 'STATUS', world: world('c2', 'over') },
  due1: { type: 'DUE', world: world('c1') },
  due2: { type: 'DUE', world: world('c2') },
  dueWhenEnded1: { type: 'DUE', world: world('c1', 'ended') },
  dueWhenEnded2: { type: 'DUE', world: world('c2', 'ended') },
  dueWhenReplaced: { type: 'DUE', world: world('c2') },
  dueWhenJustReplaced: { type: 'DUE', world: world('c2'), isYoung: true },
  restOfEnded1: { type: 'AT_REST', world: world('c1', 'ended') },
  restOfEnded2: { type: 'AT_REST', world: world('c2', 'ended') },
  restBeside2: { type: 'AT_REST', world: world('c2') },
  success: { type: 'PROBED', outcome: 'Success' },
  failure: { type: 'PROBED', outcome: 'Failure' },
  error: { type: 'PROBED', outcome: 'Error' },
  stop: { type: 'STOP' },
} as const satisfies Record<string, Happening>;
export type HappeningName = keyof typeof HAPPENINGS;

export function probeEnvironment(kind: ProbeKind): Environment<typeof probeMachine> {
  const pod = probedPod(kind);
  const [container] = pod.spec.containers;
  const beat = { agentStartedAt: AGENT_STARTED_AT, anchorAt: AGENT_STARTED_AT, catchUpAt: AGENT_STARTED_AT };
  const events = Object.entries(HAPPENINGS).map(([name, happening]) => [name, eventOf(happening, kind)]);
  return {
    machine: probeMachine,
    input: { target: { kind, pod, container: container! }, beat },
    events: Object.fromEntries(events) as Readonly<Record<string, ProbeEvent>>,
    possible: (state) => possible(kind, state),
    label: ({ value, context: { record } }) =>
      `${value} ${JSON.stringify({ ...record, resultRun: Math.min(record.resultRun, THRESHOLD) })}`,
  };
}

function eventOf(happening: Happening, kind: ProbeKind): ProbeEvent {
  if (happening.type === 'STOP') return { type: 'STOP' };
  if (happening.type === 'PROBED') return { ...happening, now: STARTED_AT.c2 + LATER_MS };
  const { type, world: seen } = happening;
  const now = seen === undefined ? AGENT_STARTED_AT : STARTED_AT[seen.id];
  const isYoung = 'isYoung' in happening;
  if ('isUnknown' in happening) return { type, seen: undefined, now };
  return { type, seen: sightingOf(seen, kind), now: now + (isYoung ? 1 : LATER_MS) };
}

/** What the status of the pod shows of it. */
function sightingOf(seen: World | undefined, kind: ProbeKind): Sighting {
  if (seen === undefined) return { phase: 'Pending', container: undefined };
  const { id, state } = seen;
  const startedAt = STARTED_AT[id];
  if (state === 'running')
    return { phase: 'Running', container: { id, state, startedAt, started: kind !== 'startup' } };
  const exitCode = state === 'over' ? 0 : 1;
  const phase = state === 'over' ? 'Succeeded' : 'Running';
  return { phase, container: { id, state: 'terminated', exitCode, started: false } };
}

/**
 * An instance that has ended does not run again, and there is no third instance. The machine's state tells how far the
 * container has come. Events that the state cannot rule out, and that are impossible all the same, are left out here.
 */
function possible(kind: ProbeKind, { value, context: { record } }: ProbeState): readonly HappeningName[] {
  const { containerId } = record;
  if (value === 'Stopped') return [];
  if (containerId === undefined) return ['noStatus', 'notCreated', 'running1', 'ended1', 'stop'];
  const names = containerId === 'c1' ? ofFirst(kind, value, record) : ofSecond(kind, value, record);
  return [...names, 'stop'];
}

function ofFirst(kind: ProbeKind, value: ProbeState['value'], record: ProbeRecord): readonly HappeningName[] {
  switch (value) {
    case 'Idle':
      if (isOver(kind, record)) return ['over1'];
      return [record.onHold ? 'running1' : 'ended1', 'running2'];
    case 'Waiting':
      return [
        'running1',
        'ended1',
        'running2',
        'due1',
        'dueWhenEnded1',
        'dueWhenReplaced',
        'dueWhenJustReplaced',
        ...(kind === 'readiness' ? [] : (['over1'] as const)),
      ];
    case 'Probing':
      return ['running1', 'ended1', 'running2', 'success', 'failure', 'error'];
    default:
      return ['ended1', 'running2', 'restOfEnded1', 'restBeside2'];
  }
}

function ofSecond(
  kind: ProbeKind,
  value: ProbeState['value'],
  record: ProbeRecord,
): readonly HappeningName[] {
  switch (value) {
    case 'Idle':
      if (isOver(kind, record)) return ['over2'];
      return [record.onHold ? 'running2' : 'ended2'];
    case 'Waiting':
      return [
        'running2',
        'ended2',
        'due2',
        'dueWhenEnded2',
        ...(kind === 'readiness' ? [] : (['over2'] as const)),
      ];
    case 'Probing':
      return ['running2', 'ended2', 'success', 'failure', 'error'];
    default: {
      const runs = kind !== 'readiness' && record.result !== 'Failure';
      return ['ended2', 'restOfEnded2', ...(runs ? (['running2', 'restBeside2'] as const) : [])];
    }
  }
}

/** The pod has succeeded with this instance. A readiness probe's result does not tell that, and it never sees a pod succeed. */
function isOver(kind: ProbeKind, { onHold, result }: ProbeRecord): boolean {
  return kind !== 'readiness' && !onHold && result !== 'Failure';
}
