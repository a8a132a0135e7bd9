/**
 * The Node object of this node as a statechart: that it exists, that it is of this machine, and that it shows the node's status. How the object is
 * registered is decided by src/agent/policies/node/registration.ts, what is reported and when by status-report.ts, and to which machine the object
 * belongs by machine-identity.ts.
 *
 * The actor keeps to this: DUE is sent when the armed timer has run out; `register` is answered by one of REGISTERED, REGISTRATION_FAILED and
 * OTHER_MACHINE; `lookForNode` by one of NODE_FOUND, NODE_MISSING, LOOK_FAILED and OTHER_MACHINE; `report` by one of REPORTED, NODE_MISSING,
 * REPORT_FAILED and OTHER_MACHINE; `lookAtOther` by one of OTHER_SEEN, NODE_FOUND, NODE_MISSING and LOOK_FAILED. Each ends before the next one
 * begins.
 */
import { assign, setup } from 'xstate';
import { isAbandoned, type LeaseSighting, seenLease } from '../policies/node/machine-identity.ts';
import { REPORT_TRIES } from '../policies/node/status-report.ts';
import { asksOf } from './ask.ts';

export interface NodeInput {
  /** The node registers itself, unless its Node object is made by another client. */
  readonly registersItself: boolean;
  /** How long a lease is valid after its last renewal. */
  readonly leaseDurationSeconds: number;
  /** Unix ms. */
  readonly now: number;
}

export interface NodeContext extends NodeInput {
  /** Of the Node object. */
  readonly uid: string | undefined;
  /** Of the Node object into which this agent has written the node's status. */
  readonly writtenUid: string | undefined;
  /** Requests that have failed in a row. */
  readonly failures: number;
  /** Something has changed that the report under way does not show. */
  readonly reportsAgain: boolean;
  /** The other machine that the Node object is of. */
  readonly other: string | undefined;
  readonly otherLease: LeaseSighting | undefined;
  /** The machine that the Node object names does not run any more. */
  readonly mayTakeOver: boolean;
  /** Why the last request failed, or what the chart waits for. */
  readonly problem: string | undefined;
  /** Since when the chart is in its state of the first level, Unix ms. */
  readonly since: number;
}

interface Failure {
  readonly problem: string;
  readonly now: number;
}

export type NodeEvent =
  | { readonly type: 'START'; readonly now: number }
  | { readonly type: 'DUE'; readonly now: number }
  /** Something has changed that the server should know at once, or the server knows something else than before. */
  | { readonly type: 'REPORT_NOW' }
  | { readonly type: 'REGISTERED'; readonly uid: string; readonly now: number }
  | ({ readonly type: 'REGISTRATION_FAILED' } & Failure)
  | { readonly type: 'NODE_FOUND'; readonly uid: string; readonly now: number }
  | { readonly type: 'NODE_MISSING'; readonly now: number }
  | ({ readonly type: 'LOOK_FAILED' } & Failure)
  /** The server knows the status now. `isReady`: as the server knows it. */
  | { readonly type: 'REPORTED'; readonly uid: string; readonly isReady: boolean; readonly now: number }
  | ({ readonly type: 'REPORT_FAILED' } & Failure)
  | { readonly type: 'OTHER_MACHINE'; readonly other: string; readonly now: number }
  /** `version`: of the lease of the other machine; undefined if there is none. */
  | { readonly type: 'OTHER_SEEN'; readonly version: string | undefined; readonly now: number };

/** What other parts may ask: whether the Node object exists and is of this machine. */
export type NodeTag = 'isRegistered';

const MISSING = 'the Node object does not exist';

function initialContext({ input }: { input: NodeInput }): NodeContext {
  return {
    ...input,
    uid: undefined,
    writtenUid: undefined,
    failures: 0,
    reportsAgain: false,
    other: undefined,
    otherLease: undefined,
    mayTakeOver: false,
    problem: undefined,
    since: input.now,
  };
}

function sighting({ otherLease }: NodeContext, event: NodeEvent): LeaseSighting | undefined {
  return event.type === 'OTHER_SEEN' ? seenLease(otherLease, event.version, event.now) : otherLease;
}

const ask = asksOf('node', 'src/agent/actors/cluster/cluster-node.ts');

export const nodeMachine = setup({
  types: {
    context: {} as NodeContext,
    events: {} as NodeEvent,
    input: {} as NodeInput,
    tags: {} as NodeTag,
  },
  guards: {
    registersItself: ({ context }) => context.registersItself,
    mustReportAgain: ({ context }) => context.reportsAgain,
    mayTryAgain: ({ context }) => context.failures + 1 < REPORT_TRIES,
    otherIsAbandoned: ({ context, event }) => {
      const seen = sighting(context, event);
      return (
        seen !== undefined && 'now' in event && isAbandoned(seen, context.leaseDurationSeconds, event.now)
      );
    },
  },
  actions: {
    recordBeginning: assign(({ context, event }) => ({
      since: 'now' in event ? event.now : context.since,
      other: undefined,
      problem: undefined,
      failures: 0,
    })),
    recordNode: assign(({ context, event }) =>
      'uid' in event
        ? { uid: event.uid, since: event.now, failures: 0, problem: undefined, other: undefined }
        : context,
    ),
    recordReport: assign(({ context, event }) =>
      event.type === 'REPORTED'
        ? {
            uid: event.uid,
            writtenUid: event.uid,
            mayTakeOver: false,
            failures: 0,
            problem: undefined,
          }
        : context,
    ),
    recordFailure: assign(({ context, event }) =>
      'problem' in event ? { problem: event.problem, failures: context.failures + 1 } : context,
    ),
    recordMissing: assign(({ context, event }) => ({
      uid: undefined,
      problem: MISSING,
      failures: 0,
      reportsAgain: false,
      since: context.uid !== undefined && 'now' in event ? event.now : context.since,
    })),
    recordOther: assign(({ context, event }) =>
      event.type === 'OTHER_MACHINE'
        ? {
            uid: undefined,
            writtenUid: undefined,
            other: event.other,
            otherLease: undefined,
            mayTakeOver: false,
            problem: `the Node object is of another machine: ${event.other}`,
            failures: 0,
            reportsAgain: false,
            since: event.now,
          }
        : context,
    ),
    recordSighting: assign({ otherLease: ({ context, event }) => sighting(context, event) }),
    forgetSighting: assign({ otherLease: undefined }),
    permitTakeOver: assign({ mayTakeOver: true }),
    forgetFailures: assign({ failures: 0 }),
    noteNews: assign({ reportsAgain: true }),
    beginReport: assign({ reportsAgain: false }),

    // Asked of the actor.
    armRegistration: ask(),
    armLook: ask(),
    disarmTimer: ask(),
    register: ask(),
    lookForNode: ask(),
    report: ask(),
    lookAtOther: ask(),
    tellRegistered: ask(),
    tellLost: ask(),
    reportFailure: ask(),
    reportMissing: ask(),
    reportOther: ask(),
    reportTakeOver: ask(),
  },
}).createMachine({
  id: 'node',
  description: 'The Node object of this node in the cluster',
  context: initialContext,
  initial: 'Idle',
  states: {
    Idle: {
      description: 'The agent has not started yet',
      on: {
        START: { actions: ['recordBeginning'], target: 'Beginning' },
      },
    },
    Beginning: {
      description:
        'The Node object is about to be registered. As far as is known, it does not belong to another machine',
      always: [{ guard: 'registersItself', target: 'Registering' }, { target: 'AwaitingNode' }],
    },
    Registering: {
      description: 'The Node object is created, or is made to fit this node if it exists',
      initial: 'BackingOff',
      on: {
        OTHER_MACHINE: { actions: ['recordOther', 'reportOther'], target: 'OtherMachine' },
      },
      states: {
        BackingOff: {
          description: 'Waits before the next try, longer after each failure',
          entry: ['armRegistration'],
          exit: ['disarmTimer'],
          on: {
            DUE: { target: 'Trying' },
          },
        },
        Trying: {
          description: 'One try is under way',
          entry: ['register'],
          on: {
            REGISTERED: { actions: ['recordNode'], target: '#node.Registered' },
            REGISTRATION_FAILED: { actions: ['reportFailure', 'recordFailure'], target: 'BackingOff' },
          },
        },
      },
    },
    AwaitingNode: {
      description:
        'The Node object does not exist, and something else must create it: this node does not register itself, or the object was deleted',
      initial: 'Looking',
      on: {
        OTHER_MACHINE: { actions: ['recordOther', 'reportOther'], target: 'OtherMachine' },
      },
      states: {
        Looking: {
          description: 'The object is being read from the server',
          entry: ['lookForNode'],
          on: {
            NODE_FOUND: { actions: ['recordNode'], target: '#node.Registered' },
            NODE_MISSING: { actions: ['recordMissing'], target: 'Waiting' },
            LOOK_FAILED: { actions: ['reportFailure', 'recordFailure'], target: 'Waiting' },
          },
        },
        Waiting: {
          description: 'Waits for the next look, or for the watch to show the object',
          entry: ['armLook'],
          exit: ['disarmTimer'],
          on: {
            DUE: { target: 'Looking' },
            REPORT_NOW: { target: 'Looking' },
          },
        },
      },
    },
    Registered: {
      description: 'The Node object exists and belongs to this machine: it is kept up to date',
      tags: ['isRegistered'],
      entry: ['tellRegistered'],
      initial: 'Reporting',
      on: {
        NODE_MISSING: {
          description:
            'The object was deleted. As with the kubelet, the agent makes it anew only when it starts',
          actions: ['recordMissing', 'reportMissing', 'tellLost'],
          target: 'AwaitingNode.Waiting',
        },
        OTHER_MACHINE: { actions: ['recordOther', 'reportOther', 'tellLost'], target: 'OtherMachine' },
      },
      states: {
        Reporting: {
          description: 'The status is being built, and written if it has changed or the last report is old',
          entry: ['beginReport', 'report'],
          on: {
            REPORT_NOW: { actions: ['noteNews'] },
            REPORTED: [
              {
                description: 'The reported status does not contain the latest change',
                guard: 'mustReportAgain',
                actions: ['recordReport', 'tellRegistered'],
                target: 'Reporting',
                reenter: true,
              },
              { actions: ['recordReport', 'tellRegistered'], target: 'Waiting' },
            ],
            REPORT_FAILED: [
              {
                guard: 'mayTryAgain',
                actions: ['reportFailure', 'recordFailure'],
                target: 'Reporting',
                reenter: true,
              },
              { actions: ['reportFailure', 'recordFailure', 'forgetFailures'], target: 'Waiting' },
            ],
          },
        },
        Waiting: {
          description: 'Waits for the next look at the status',
          entry: ['armLook'],
          exit: ['disarmTimer'],
          on: {
            DUE: { target: 'Reporting' },
            REPORT_NOW: { target: 'Reporting' },
          },
        },
      },
    },
    OtherMachine: {
      description:
        'The Node object belongs to another machine, which renews its lease. This agent does not write the object until that machine stops',
      initial: 'Looking',
      states: {
        Looking: {
          description: 'The object and its lease are being read from the server',
          entry: ['lookAtOther'],
          on: {
            OTHER_SEEN: [
              {
                guard: 'otherIsAbandoned',
                actions: ['reportTakeOver', 'recordBeginning', 'permitTakeOver'],
                target: '#node.Beginning',
              },
              { actions: ['recordSighting'], target: 'Waiting' },
            ],
            NODE_FOUND: { actions: ['recordBeginning'], target: '#node.Beginning' },
            NODE_MISSING: { actions: ['recordBeginning'], target: '#node.Beginning' },
            LOOK_FAILED: {
              description:
                'The other machine may not have reached the server either: a lease that was not renewed proves nothing',
              actions: ['reportFailure', 'recordFailure', 'forgetSighting'],
              target: 'Waiting',
            },
          },
        },
        Waiting: {
          description: 'Waits for the next look',
          entry: ['armLook'],
          exit: ['disarmTimer'],
          on: {
            DUE: { target: 'Looking' },
            REPORT_NOW: { target: 'Looking' },
          },
        },
      },
    },
  },
});
