/**
 * One probe of one container as a statechart: when it runs, and the result of its runs. The result is decided by
 * src/agent/policies/probes/probe.ts, the time of the next run by src/agent/policies/probes/probe-schedule.ts.
 *
 * The actor keeps to this: STATUS is sent whenever the pod's status may have changed; DUE when the armed timer has
 * run out; a run that was started ends with exactly one event, `PROBED` or, after an abort, `AT_REST`.
 */
import { assign, setup } from 'xstate';
import {
  decideProbe,
  judge,
  NEW_PROBE_RECORD,
  type ProbeDecision,
  probeOf,
  type ProbeOutcome,
  type ProbeRecord,
  type ProbeTarget,
  quietRecord,
  type Sighting,
} from '../policies/probes/probe.ts';
import { firstDelayMs, nextDelayMs, type ProbeBeat } from '../policies/probes/probe-schedule.ts';
import { asksOf } from './ask.ts';

export interface ProbeInput {
  readonly target: ProbeTarget;
  readonly beat: ProbeBeat;
}

export interface ProbeContext extends ProbeInput {
  readonly record: ProbeRecord;
  /** The delay of the timer that is to be armed. */
  readonly delayMs: number;
  /** When the latest run began, Unix ms. */
  readonly ranAt: number;
}

interface Seen {
  /** What the pod's status shows of the container; undefined while there is no status. */
  readonly seen: Sighting | undefined;
  /** Unix ms. */
  readonly now: number;
}

export type ProbeEvent =
  | ({ readonly type: 'STATUS' } & Seen)
  | ({ readonly type: 'DUE' } & Seen)
  | { readonly type: 'PROBED'; readonly outcome: ProbeOutcome; readonly now: number }
  | ({ readonly type: 'AT_REST' } & Seen)
  | { readonly type: 'STOP' };

function initialContext({ input }: { input: ProbeInput }): ProbeContext {
  return { ...input, record: NEW_PROBE_RECORD, delayMs: 0, ranAt: 0 };
}

function look({ target, record, beat }: ProbeContext, event: ProbeEvent): ProbeDecision {
  if ('seen' in event) return decideProbe(target, record, event.seen, beat.agentStartedAt);
  return { record, step: { kind: 'idle' } };
}

function outcomeRecord({ target, record }: ProbeContext, event: ProbeEvent): ProbeRecord {
  return event.type === 'PROBED' ? judge(target, record, event.outcome) : record;
}

const ask = asksOf('probe', 'src/agent/actors/probes/probe-worker.ts');

export const probeMachine = setup({
  types: {
    context: {} as ProbeContext,
    events: {} as ProbeEvent,
    input: {} as ProbeInput,
  },
  guards: {
    canBeProbed: ({ context, event }) => look(context, event).step.kind === 'probe',
    isDue: ({ context, event }) => {
      const { step } = look(context, event);
      return step.kind === 'probe' && event.type === 'DUE' && step.notBefore <= event.now;
    },
    isAsBefore: ({ context, event }) => {
      const { step, record } = look(context, event);
      return step.kind === 'probe' && record.containerId === context.record.containerId;
    },
    settlesResult: ({ context, event }) => outcomeRecord(context, event).onHold,
    changesResult: ({ context, event }) => outcomeRecord(context, event).result !== context.record.result,
  },
  actions: {
    recordStatus: assign(({ context, event }) => ({ record: look(context, event).record })),
    recordRun: assign({ ranAt: ({ context, event }) => ('now' in event ? event.now : context.ranAt) }),
    recordOutcome: assign({ record: ({ context, event }) => outcomeRecord(context, event) }),
    recordEnd: assign({ record: ({ context }) => quietRecord(context.target, context.record) }),
    planFirstRun: assign(({ context, event }) => {
      const { step } = look(context, event);
      if (step.kind !== 'probe' || !('now' in event)) return {};
      const { target, beat } = context;
      return { delayMs: firstDelayMs(target.kind, probeOf(target), step, beat, event.now) };
    }),
    planNextRun: assign(({ context, event }) =>
      'now' in event ? { delayMs: nextDelayMs(probeOf(context.target), context.ranAt, event.now) } : {},
    ),

    // Asked of the actor.
    armTimer: ask(),
    disarmTimer: ask(),
    startProbe: ask(),
    abortProbe: ask(),
    reportResult: ask(),
  },
}).createMachine({
  id: 'probe',
  description: 'One probe of one container: its runs and their result',
  context: initialContext,
  initial: 'Idle',
  on: {
    STOP: { actions: ['recordEnd'], target: '.Stopped' },
  },
  states: {
    Idle: {
      description:
        'There is nothing to probe: no container runs, or it has started up (or not yet), or its result is final',
      on: {
        STATUS: [
          { guard: 'canBeProbed', actions: ['recordStatus', 'planFirstRun'], target: 'Waiting' },
          { actions: ['recordStatus'] },
        ],
      },
    },
    Waiting: {
      description: 'Waits for the initial delay of the container, or for the next run',
      entry: ['armTimer'],
      exit: ['disarmTimer'],
      on: {
        STATUS: [
          { guard: 'isAsBefore' },
          {
            description: 'Another instance of the container',
            guard: 'canBeProbed',
            actions: ['recordStatus', 'planFirstRun'],
            target: 'Waiting',
            reenter: true,
          },
          { actions: ['recordStatus'], target: 'Idle' },
        ],
        DUE: [
          { guard: 'isDue', actions: ['recordStatus', 'recordRun'], target: 'Probing' },
          {
            guard: 'canBeProbed',
            actions: ['recordStatus', 'planFirstRun'],
            target: 'Waiting',
            reenter: true,
          },
          { actions: ['recordStatus'], target: 'Idle' },
        ],
      },
    },
    Probing: {
      description: 'A run is under way',
      entry: ['startProbe'],
      on: {
        PROBED: [
          { guard: 'settlesResult', actions: ['recordOutcome', 'reportResult'], target: 'Idle' },
          {
            guard: 'changesResult',
            actions: ['recordOutcome', 'reportResult', 'planNextRun'],
            target: 'Waiting',
          },
          { actions: ['recordOutcome', 'planNextRun'], target: 'Waiting' },
        ],
        STATUS: [{ guard: 'isAsBefore' }, { actions: ['recordStatus', 'abortProbe'], target: 'Draining' }],
        STOP: { actions: ['abortProbe', 'recordEnd'], target: 'Stopped' },
      },
    },
    Draining: {
      description:
        'The container is gone: the run of its probe has been aborted, and must come to rest first',
      on: {
        STATUS: { actions: ['recordStatus'] },
        AT_REST: [
          { guard: 'canBeProbed', actions: ['recordStatus', 'planFirstRun'], target: 'Waiting' },
          { actions: ['recordStatus'], target: 'Idle' },
        ],
      },
    },
    Stopped: {
      description: 'The pod ends: the probe does not run any more',
      type: 'final',
    },
  },
});
