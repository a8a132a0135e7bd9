/**
 * One certificate of the node as a statechart: when it is asked for and renewed (region Renewal), and whether the agent has a valid one (region
 * Validity). When to renew and how long to wait is decided by src/agent/policies/cluster/certificates.ts.
 *
 * Requests (`untilRenewal` and so on) wait for times, not delays: the clock of a machine may be set meanwhile, and the next state must know the time.
 * Keys and certificates stay with the actor.
 */
import { assign, type DoneActorEvent, type ErrorActorEvent, setup } from 'xstate';
import {
  type CertificateFacts,
  type CertificateTemplate,
  isExpired,
  renewalTime,
  retryDelayMs,
  satisfiesTemplate,
} from '../policies/cluster/certificates.ts';
import { asksOf, ownContext, requestsOf } from './ask.ts';

export interface CertificateInput {
  /** A certificate is renewed before it expires. */
  readonly rotates: boolean;
  /** The agent ends if it has no valid certificate for too long, and the server refuses to give one. */
  readonly isVital: boolean;
}

export interface CertificateContext extends CertificateInput {
  /** The wanted certificate; undefined while the node has no IP address. */
  readonly template: CertificateTemplate | undefined;
  /** Undefined: there is none yet. */
  readonly certificate: CertificateFacts | undefined;
  /** The certificate that was requested last. */
  readonly requested: CertificateTemplate | undefined;
  /** The name of the request that waits to be approved and signed. */
  readonly requestName: string | undefined;
  /** In a row. */
  readonly failures: number;
  /** Why the last request failed; undefined after a success. */
  readonly problem: string | undefined;
  /** The server answered the last request, and refused it. */
  readonly isRefused: boolean;
  /** When the state of the region Renewal began. Unix milliseconds, as all times here. */
  readonly since: number;
  readonly renewAt: number;
  /** When the next request is sent after one that failed. */
  readonly retryAt: number;
  /** When the last valid certificate was lost. */
  readonly missingSince: number;
}

export interface Timed {
  readonly at: number;
}

/** `random` is in [0, 1). */
interface Chance {
  readonly random: number;
}

/** The request waits to be approved and signed. */
export interface Sent extends Timed {
  readonly name: string;
}

export interface Issued extends Timed, Chance {
  readonly certificate: CertificateFacts;
}

export interface RequestFailure extends Timed, Chance {
  readonly problem: string;
  /** The server answered, and refused. */
  readonly isRefused: boolean;
}

export type CertificateEvent =
  | ({
      readonly type: 'START';
      readonly template: CertificateTemplate | undefined;
      readonly certificate: CertificateFacts | undefined;
      /** The certificate only serves to request the agent's own first one. */
      readonly mustRenew: boolean;
    } & Timed &
      Chance)
  | ({ readonly type: 'TEMPLATE'; readonly template: CertificateTemplate | undefined } & Timed)
  | { readonly type: 'STOP' }
  | DoneActorEvent<Sent, 'sendRequest'>
  | DoneActorEvent<Issued, 'awaitCertificate'>
  | DoneActorEvent<Timed, 'untilRenewal' | 'untilRetry' | 'untilExpiry' | 'untilGivenUp'>
  | ErrorActorEvent<RequestFailure, 'sendRequest' | 'awaitCertificate'>;

function initialContext({ input }: { input: CertificateInput }): CertificateContext {
  return {
    ...input,
    template: undefined,
    certificate: undefined,
    requested: undefined,
    requestName: undefined,
    failures: 0,
    problem: undefined,
    isRefused: false,
    since: 0,
    renewAt: 0,
    retryAt: 0,
    missingSince: 0,
  };
}

/** Whether the certificate is what the template asks for. Without a template nothing is requested. */
function fits(certificate: CertificateFacts | undefined, template: CertificateTemplate | undefined): boolean {
  return certificate !== undefined && (template === undefined || satisfiesTemplate(certificate, template));
}

function isSame(one: CertificateTemplate | undefined, other: CertificateTemplate | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function dueTime({ rotates }: CertificateInput, certificate: CertificateFacts, random: number): number {
  return rotates ? renewalTime(certificate, random) : Infinity;
}

function timeOf(event: CertificateEvent): number {
  if ('output' in event) return event.output.at;
  if ('error' in event) return event.error.at;
  return 'at' in event ? event.at : 0;
}

const EFFECTS = ['certificate', 'src/agent/actors/cluster/certificate-manager.ts'] as const;
const ask = asksOf(...EFFECTS);
const request = requestsOf(...EFFECTS);

// Transitions of several states. Each stands for one transition, so that the Stately editor draws them.

/** The next request. */
const OTHER_TEMPLATE = { actions: ['recordTemplate'] } as const;
const FAILED = { actions: ['recordFailure', 'reportFailure', 'enter'], target: 'BackingOff' } as const;

export const certificateMachine = setup({
  types: {
    context: {} as CertificateContext,
    events: {} as CertificateEvent,
    input: {} as CertificateInput,
  },
  actors: {
    sendRequest: request<Sent, CertificateContext>(),
    awaitCertificate: request<Issued, CertificateContext>(),
    untilRenewal: request<Timed, CertificateContext>(),
    untilRetry: request<Timed, CertificateContext>(),
    untilExpiry: request<Timed, CertificateContext>(),
    /** The agent has been without a valid certificate for too long. */
    untilGivenUp: request<Timed, CertificateContext>(),
  },
  guards: {
    hasFitting: ({ event }) =>
      event.type === 'START' && !event.mustRenew && fits(event.certificate, event.template),
    hasTemplate: ({ event }) => 'template' in event && event.template !== undefined,
    lacksAddress: ({ context }) => context.template === undefined,
    needsOther: ({ context, event }) =>
      event.type === 'TEMPLATE' && event.template !== undefined && !fits(context.certificate, event.template),
    fitsNow: ({ context, event }) =>
      event.type === 'TEMPLATE' && event.template !== undefined && fits(context.certificate, event.template),
    isOutdated: ({ context: { template, requested, certificate } }) =>
      template !== undefined && !isSame(template, requested) && !fits(certificate, template),
    isNotVital: ({ context }) => !context.isVital,
    isValid: ({ event }) =>
      event.type === 'START' && event.certificate !== undefined && !isExpired(event.certificate, event.at),
    hasExpired: ({ context, event }) =>
      context.certificate === undefined || isExpired(context.certificate, timeOf(event)),
    isRefused: ({ context }) => context.isRefused,
    wasRefused: ({ event }) => 'error' in event && event.error.isRefused,
  },
  actions: {
    enter: assign({ since: ({ event }) => timeOf(event) }),
    recordStart: assign(({ context, event }) => {
      if (event.type !== 'START') return {};
      const { template, certificate, at, random } = event;
      return { template, certificate, renewAt: certificate ? dueTime(context, certificate, random) : at };
    }),
    recordTemplate: assign(({ event }) => (event.type === 'TEMPLATE' ? { template: event.template } : {})),
    recordRequest: assign({ requested: ({ context }) => context.template }),
    recordName: assign(({ event }) =>
      event.type === 'xstate.done.actor.sendRequest' ? { requestName: event.output.name } : {},
    ),
    recordIssue: assign(({ context, event }) => {
      if (event.type !== 'xstate.done.actor.awaitCertificate') return {};
      const { certificate, random } = event.output;
      const renewAt = dueTime(context, certificate, random);
      return {
        certificate,
        renewAt,
        requestName: undefined,
        failures: 0,
        problem: undefined,
        isRefused: false,
      };
    }),
    recordFailure: assign(({ context, event }) => {
      if (!('error' in event)) return {};
      const { problem, isRefused, at, random } = event.error;
      const failures = context.failures + 1;
      const retryAt = at + retryDelayMs(failures, random);
      return { failures, problem, isRefused, requestName: undefined, retryAt };
    }),
    recordLoss: assign({ missingSince: ({ event }) => timeOf(event) }),

    // Asked of the actor.
    reportIssue: ask(),
    reportFailure: ask(),
    reportMissing: ask(),
    giveUp: ask(),
  },
}).createMachine({
  id: 'certificate',
  description: 'One certificate of the node, requested from the API server',
  context: initialContext,
  type: 'parallel',
  states: {
    Renewal: {
      initial: 'Idle',
      on: { STOP: { target: '.Stopped' } },
      states: {
        Idle: {
          description: 'The agent has not begun',
          on: {
            START: [
              { guard: 'hasFitting', actions: ['recordStart', 'enter'], target: 'Settled' },
              { guard: 'hasTemplate', actions: ['recordStart', 'enter'], target: 'Requesting' },
              { actions: ['recordStart', 'enter'], target: 'AwaitingAddresses' },
            ],
          },
        },
        AwaitingAddresses: {
          description: 'Waits for the node to have an IP address: a certificate without one is not signed',
          on: {
            TEMPLATE: [
              { guard: 'needsOther', actions: ['recordTemplate', 'enter'], target: 'Requesting' },
              { guard: 'fitsNow', actions: ['recordTemplate', 'enter'], target: 'Settled' },
            ],
          },
        },
        Settled: {
          description: 'The certificate exists; another one is requested before it expires',
          invoke: {
            id: 'untilRenewal',
            src: 'untilRenewal',
            input: ownContext,
            onDone: [
              { guard: 'lacksAddress', actions: ['enter'], target: 'AwaitingAddresses' },
              { actions: ['enter'], target: 'Requesting' },
            ],
          },
          on: {
            TEMPLATE: [
              {
                description: 'The node has an address that the certificate does not name',
                guard: 'needsOther',
                actions: ['recordTemplate', 'enter'],
                target: 'Requesting',
              },
              { actions: ['recordTemplate'] },
            ],
          },
        },
        Requesting: {
          description: 'A request with a new key is being sent to the API server',
          entry: ['recordRequest'],
          invoke: {
            id: 'sendRequest',
            src: 'sendRequest',
            input: ownContext,
            onDone: { actions: ['recordName', 'enter'], target: 'AwaitingCertificate' },
            onError: FAILED,
          },
          on: { TEMPLATE: OTHER_TEMPLATE },
        },
        AwaitingCertificate: {
          description: 'The request waits to be approved and signed',
          invoke: {
            id: 'awaitCertificate',
            src: 'awaitCertificate',
            input: ownContext,
            onDone: { actions: ['recordIssue', 'reportIssue', 'enter'], target: 'Settled' },
            onError: FAILED,
          },
          always: {
            description: 'The certificate must name something else by now',
            guard: 'isOutdated',
            actions: ['enter'],
            target: 'Requesting',
          },
          on: { TEMPLATE: OTHER_TEMPLATE },
        },
        BackingOff: {
          description: 'The last request failed; the next one is sent after a while',
          invoke: {
            id: 'untilRetry',
            src: 'untilRetry',
            input: ownContext,
            onDone: [
              { guard: 'lacksAddress', actions: ['enter'], target: 'AwaitingAddresses' },
              { actions: ['enter'], target: 'Requesting' },
            ],
          },
          on: { TEMPLATE: OTHER_TEMPLATE },
        },
        Stopped: { type: 'final' },
      },
    },
    Validity: {
      initial: 'Idle',
      on: { STOP: { target: '.Stopped' } },
      states: {
        Idle: {
          description: 'The agent has not begun',
          on: {
            START: [
              { guard: 'isNotVital', target: 'Unwatched' },
              { guard: 'isValid', target: 'Valid' },
              { actions: ['recordLoss'], target: 'Missing' },
            ],
          },
        },
        Unwatched: { description: 'The agent does not need this certificate' },
        Valid: {
          description: 'There is a certificate that has not expired',
          invoke: {
            id: 'untilExpiry',
            src: 'untilExpiry',
            input: ownContext,
            onDone: [
              { guard: 'hasExpired', actions: ['recordLoss', 'reportMissing'], target: 'Missing' },
              { description: 'The certificate has been renewed meanwhile', target: 'Valid', reenter: true },
            ],
          },
        },
        Missing: {
          description:
            'There is no valid certificate: after five minutes the agent ends, if the server goes on refusing one',
          invoke: {
            id: 'untilGivenUp',
            src: 'untilGivenUp',
            input: ownContext,
            onDone: [{ guard: 'isRefused', target: 'GivenUp' }, { target: 'Overdue' }],
          },
          on: { 'xstate.done.actor.awaitCertificate': { target: 'Valid' } },
        },
        Overdue: {
          description:
            'There is no valid certificate, but the server has not refused one, or does not answer: the agent goes on',
          on: {
            'xstate.done.actor.awaitCertificate': { target: 'Valid' },
            'xstate.error.actor.sendRequest': { guard: 'wasRefused', target: 'GivenUp' },
            'xstate.error.actor.awaitCertificate': { guard: 'wasRefused', target: 'GivenUp' },
          },
        },
        GivenUp: {
          description: 'There is no valid certificate: only another start with other credentials helps',
          entry: ['giveUp'],
        },
        Stopped: { type: 'final' },
      },
    },
  },
});
