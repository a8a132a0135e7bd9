/**
 * A volume of a CSI driver as a statechart: on this node it is attached and staged once for all pods that use it, and unstaged when no pod uses it.
 */
import { assign, type DoneActorEvent, type ErrorActorEvent, setup } from 'xstate';
import type { CsiSource } from '../policies/volumes/csi-source.ts';
import { asksOf, ownContext, requestsOf } from './ask.ts';
import type { TimedFailure } from '../../types/timed-failure.ts';

export interface CsiVolumeInput {
  readonly driver: string;
  readonly handle: string;
  /** Of a block device: the name of its PersistentVolume. */
  readonly blockName?: string | undefined;
  /** The pods into which an earlier agent has published it. */
  readonly pods: readonly string[];
  /** Unix ms. */
  readonly now: number;
}

export interface CsiVolumeContext {
  readonly driver: string;
  readonly handle: string;
  readonly blockName: string | undefined;
  /** UIDs of the pods that use it. */
  readonly pods: readonly string[];
  /** The volume in the spec of the last pod; undefined where only an earlier agent knew it. */
  readonly source: CsiSource | undefined;
  /** The publish context of the attachment, for the driver. */
  readonly publishContext: Readonly<Record<string, string>>;
  /** A controller must attach it to this node first. */
  readonly isAttachable: boolean;
  /** The group of the last pod that wants it, for a driver that gives files to groups itself. */
  readonly group: number | undefined;
  /** How often in a row unstaging has failed. */
  readonly failures: number;
  /** Why the last step has failed; undefined once a step has succeeded. */
  readonly problem: string | undefined;
  /** Since when it is in its state. Unix ms. */
  readonly since: number;
}

/** How a pod wants the volume. */
export interface CsiVolumeWish {
  readonly pod: string;
  readonly source: CsiSource;
  readonly isAttachable: boolean;
  readonly group: number | undefined;
}

interface Attached {
  readonly publishContext: Readonly<Record<string, string>>;
  readonly now: number;
}

export type CsiVolumeEvent =
  /** A pod wants it; also again, after a failure. */
  | ({ readonly type: 'WANTED'; readonly now: number } & CsiVolumeWish)
  /** It is unpublished from the pod. */
  | { readonly type: 'LEFT'; readonly pod: string; readonly now: number }
  /** All pods of this node are known: what none of them uses is unstaged. */
  | { readonly type: 'PODS_KNOWN'; readonly now: number }
  /** Its driver has registered, maybe again. */
  | { readonly type: 'DRIVER_REGISTERED'; readonly now: number }
  | { readonly type: 'STOP' }
  | DoneActorEvent<Attached, 'attach'>
  | DoneActorEvent<number, 'stage' | 'unstage'>
  | ErrorActorEvent<TimedFailure, 'attach' | 'stage' | 'unstage'>;

/** As long as the kubelet waits for the external attacher. */
const ATTACH_LIMIT_MS = 10 * 60_000;
const BACK_OFF_FIRST_MS = 500;
const BACK_OFF_MOST_MS = 122_000;

const EFFECTS = ['CSI volume', 'src/agent/actors/volumes/csi-volume-actor.ts'] as const;
const ask = asksOf(...EFFECTS);
const request = requestsOf(...EFFECTS);

function initialContext({ input }: { input: CsiVolumeInput }): CsiVolumeContext {
  const { driver, handle, blockName, pods, now } = input;
  return {
    driver,
    handle,
    blockName,
    pods,
    source: undefined,
    publishContext: {},
    isAttachable: true,
    group: undefined,
    failures: 0,
    problem: undefined,
    since: now,
  };
}

export const csiVolumeMachine = setup({
  types: {
    context: {} as CsiVolumeContext,
    events: {} as CsiVolumeEvent,
    input: {} as CsiVolumeInput,
  },
  actors: {
    attach: request<Attached, CsiVolumeContext>(),
    /** Resolve to the time of their end (Unix ms). */
    stage: request<number, CsiVolumeContext>(),
    unstage: request<number, CsiVolumeContext>(),
  },
  delays: {
    attachLimit: ATTACH_LIMIT_MS,
    backOff: ({ context: { failures } }) =>
      Math.min(BACK_OFF_MOST_MS, BACK_OFF_FIRST_MS * 2 ** (failures - 1)),
  },
  guards: {
    isLast: ({ context, event }) => event.type === 'LEFT' && context.pods.every((pod) => pod === event.pod),
    isUnused: ({ context }) => context.pods.length === 0,
    isWanted: ({ context }) => context.pods.length > 0,
  },
  actions: {
    recordWish: assign(({ context, event }) => {
      if (event.type !== 'WANTED') return context;
      const { pod, source, isAttachable, group } = event;
      const pods = context.pods.includes(pod) ? context.pods : [...context.pods, pod];
      return { pods, source, isAttachable, group };
    }),
    recordLeaving: assign(({ context, event }) => {
      if (event.type !== 'LEFT') return context;
      return { pods: context.pods.filter((pod) => pod !== event.pod) };
    }),
    recordTime: assign(({ context, event }) => ({ since: 'now' in event ? event.now : context.since })),
    recordAttachment: assign(({ context, event }) => {
      if (!('output' in event) || typeof event.output === 'number') return context;
      const { publishContext, now } = event.output;
      return { publishContext, since: now };
    }),
    recordStep: assign(({ context, event }) => {
      const since = 'output' in event && typeof event.output === 'number' ? event.output : context.since;
      return { since, problem: undefined, failures: 0 };
    }),
    recordFailure: assign(({ context, event }) => {
      if (!('error' in event)) return context;
      const { problem, now } = event.error;
      return { problem, since: now };
    }),
    // As with the kubelet, failures of other steps do not count.
    countFailure: assign(({ context: { failures } }) => ({ failures: failures + 1 })),
    forgetFailures: assign({ failures: 0 }),
    recordAttachTimeout: assign(({ context: { driver, handle, since } }) => ({
      problem: `timed out waiting for external-attacher of ${driver} CSI driver to attach volume ${handle}`,
      since: since + ATTACH_LIMIT_MS,
    })),

    // Asked of the actor.
    reportProblem: ask(),
    forget: ask(),
  },
}).createMachine({
  id: 'csiVolume',
  description: 'A volume of a CSI driver on this node, from the first pod that wants it until it is unstaged',
  context: initialContext,
  initial: 'Known',
  on: {
    LEFT: { actions: ['recordLeaving'] },
    STOP: { target: '.Stopped' },
  },
  states: {
    Known: {
      description: 'An earlier agent may have staged it, or a pod is about to want it',
      on: {
        WANTED: { actions: ['recordWish', 'recordTime'], target: 'Attaching' },
        LEFT: { guard: 'isLast', actions: ['recordLeaving', 'recordTime'], target: 'Unstaging' },
        PODS_KNOWN: { guard: 'isUnused', actions: ['recordTime'], target: 'Unstaging' },
      },
    },
    Attaching: {
      description: 'Waits for a controller to attach it to this node, unless its driver needs no attachment',
      invoke: {
        id: 'attach',
        src: 'attach',
        input: ownContext,
        onDone: { actions: ['recordAttachment'], target: 'Staging' },
        onError: { actions: ['recordFailure', 'reportProblem'], target: 'Failed' },
      },
      after: { attachLimit: { actions: ['recordAttachTimeout', 'reportProblem'], target: 'Failed' } },
      on: {
        WANTED: { actions: ['recordWish'] },
        LEFT: [
          { guard: 'isLast', actions: ['recordLeaving', 'recordTime'], target: 'Unstaging' },
          { actions: ['recordLeaving'] },
        ],
      },
    },
    Staging: {
      description: 'The driver makes it ready for pods of this node',
      invoke: {
        id: 'stage',
        src: 'stage',
        input: ownContext,
        onDone: [
          { guard: 'isUnused', actions: ['recordStep'], target: 'Unstaging' },
          { actions: ['recordStep'], target: 'Staged' },
        ],
        onError: { actions: ['recordFailure', 'reportProblem'], target: 'Failed' },
      },
      on: { WANTED: { actions: ['recordWish'] } },
    },
    Staged: {
      description: 'It is ready for pods',
      on: {
        WANTED: { actions: ['recordWish'] },
        LEFT: [
          { guard: 'isLast', actions: ['recordLeaving', 'recordTime'], target: 'Unstaging' },
          { actions: ['recordLeaving'] },
        ],
      },
    },
    Failed: {
      description: 'It could not be attached or staged. The next try of a pod that wants it begins again',
      always: { guard: 'isUnused', target: 'Unstaging' },
      on: { WANTED: { actions: ['recordWish', 'recordTime'], target: 'Attaching' } },
    },
    Unstaging: {
      description: 'No pod uses it: the driver unstages it, even if it is not certain that it is staged',
      invoke: {
        id: 'unstage',
        src: 'unstage',
        input: ownContext,
        onDone: [
          { guard: 'isUnused', target: 'Gone' },
          { actions: ['recordStep'], target: 'Attaching' },
        ],
        onError: { actions: ['recordFailure', 'countFailure', 'reportProblem'], target: 'UnstageFailed' },
      },
      on: { WANTED: { actions: ['recordWish'] } },
    },
    UnstageFailed: {
      description: 'The driver could not unstage it. That is tried again, unless a pod wants the volume',
      always: { guard: 'isWanted', actions: ['forgetFailures'], target: 'Attaching' },
      after: { backOff: { target: 'Unstaging' } },
      on: {
        WANTED: { actions: ['recordWish', 'recordTime', 'forgetFailures'], target: 'Attaching' },
        DRIVER_REGISTERED: { actions: ['recordTime'], target: 'Unstaging' },
      },
    },
    Gone: {
      description: 'It is not on this node any more',
      type: 'final',
      entry: ['forget'],
    },
    Stopped: { type: 'final' },
  },
});
