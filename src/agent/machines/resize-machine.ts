/**
 * A change of the resources of one pod that runs, as a statechart: one actor from the request until the running containers have what was granted. The
 * decisions, and the conditions of the pod's status, come from src/agent/policies/resize.
 *
 * The two regions go on side by side: a request may wait while an earlier one is carried out.
 */
import { assign, setup } from 'xstate';
import {
  hasFailed,
  isAsBefore,
  isDeferred,
  isInfeasible,
  type ResizeConditions,
} from '../policies/resize/resize-conditions.ts';

export interface ResizeContext {
  /** Of the pod's status. */
  readonly conditions: ResizeConditions;
}

/** `conditions`: those of the pod's status from now on. */
export type ResizeMachineEvent = {
  readonly type:
    | 'ASKED'
    /** A former agent has written how far it had come. */
    | 'RECALLED'
    | 'REFUSED'
    | 'GRANTED'
    /** The spec asks for what has been granted already. */
    | 'WITHDRAWN'
    | 'UNDER_WAY'
    | 'FAILED'
    | 'ACTUATED';
} & ResizeContext;

export const resizeMachine = setup({
  types: {
    context: {} as ResizeContext,
    events: {} as ResizeMachineEvent,
  },
  guards: {
    isAsBefore: ({ context, event }) => isAsBefore(context.conditions, event.conditions),
    isInfeasible: ({ event }) => isInfeasible(event.conditions),
    isDeferred: ({ event }) => isDeferred(event.conditions),
    hasFailed: ({ event }) => hasFailed(event.conditions),
    isUnderWay: ({ event }) => event.conditions.inProgress !== undefined,
  },
  actions: {
    recordConditions: assign({ conditions: ({ event }) => event.conditions }),
  },
}).createMachine({
  id: 'resize',
  description: 'A change of the CPU and memory of one pod that runs',
  context: { conditions: {} },
  type: 'parallel',
  states: {
    Request: {
      description: 'Whether the node has granted what the spec asks for',
      initial: 'Granted',
      on: {
        ASKED: { actions: ['recordConditions'], target: '.Judging' },
        RECALLED: [
          { guard: 'isInfeasible', actions: ['recordConditions'], target: '.Infeasible' },
          { guard: 'isDeferred', actions: ['recordConditions'], target: '.Deferred' },
          { actions: ['recordConditions'], target: '.Judging' },
        ],
        REFUSED: [
          { guard: 'isInfeasible', actions: ['recordConditions'], target: '.Infeasible' },
          { actions: ['recordConditions'], target: '.Deferred' },
        ],
        GRANTED: { actions: ['recordConditions'], target: '.Granted' },
        WITHDRAWN: { actions: ['recordConditions'], target: '.Granted' },
      },
      states: {
        Granted: { description: 'The node has granted what the spec asks for' },
        Judging: {
          description:
            'It is not decided yet whether the node grants what the spec asks for. After a start of the agent that waits for all sources',
        },
        Deferred: {
          description: 'There is no room now for what the spec asks for: it waits until other pods free room',
          on: {
            REFUSED: [
              { guard: 'isAsBefore', actions: ['recordConditions'] },
              { guard: 'isInfeasible', actions: ['recordConditions'], target: 'Infeasible' },
              { description: 'The refusal is of another version of the spec', actions: ['recordConditions'] },
            ],
          },
        },
        Infeasible: {
          description:
            'This node can never grant what the spec asks for: only another version of the spec helps',
        },
      },
    },
    Actuation: {
      description: 'Whether the pod and its containers have what was granted',
      initial: 'Actuated',
      on: {
        RECALLED: [
          { guard: 'hasFailed', actions: ['recordConditions'], target: '.Failing' },
          { guard: 'isUnderWay', actions: ['recordConditions'], target: '.InProgress' },
        ],
        GRANTED: { actions: ['recordConditions'], target: '.InProgress' },
        FAILED: { actions: ['recordConditions'], target: '.Failing' },
        ACTUATED: { actions: ['recordConditions'], target: '.Actuated' },
      },
      states: {
        Actuated: {
          description: 'The pod and its containers have what was granted',
          on: { UNDER_WAY: { actions: ['recordConditions'], target: 'InProgress' } },
        },
        InProgress: {
          description: 'What was granted is being carried out: not all containers have it yet',
          on: { UNDER_WAY: { actions: ['recordConditions'] } },
        },
        Failing: {
          description: 'What was granted could not be carried out: that is tried again',
          on: {
            UNDER_WAY: { actions: ['recordConditions'] },
            FAILED: {
              description: 'The failure lasts, even if its message changes',
              actions: ['recordConditions'],
            },
          },
        },
      },
    },
  },
});
