/**
 * One certificate of the node as a statechart: when it is asked for and renewed (region Renewal), and whether the agent has a valid
 * one (region Validity). When to renew and how long to wait is decided by src/agent/policies/cluster/certificates.ts.
 *
 * The actor keeps to this: `sendRequest` is answered by one REQUESTED or REQUEST_FAILED; `awaitCertificate` by one ISSUED or
 * REQUEST_FAILED, unless `stopWaiting` comes first; a timer that was armed sends its event unless it is disarmed. That of
 * a long wait may fire early: then it is armed again. Keys and certificates stay with the actor.
 */
import { assign, setup } from 'xstate';
import {
  type CertificateFacts,
  type CertificateTemplate,
  isExpired,
  renewalTime,
  retryDelayMs,
  satisfiesTemplate,
} from '../policies/cluster/certificates.ts';
import { asksOf } from './ask.ts';

export interface CertificateInput {
  /** A certificate is renewed before it expires. */
  readonly rotates: boolean;
  /** The agent ends if it has no valid certificate for too long and the server gives it none. */
  readonly isVital: boolean;
}

export interface CertificateContext extends CertificateInput {
  /** What is asked for; undefined while the node has no IP address. */
  readonly template: CertificateTemplate | undefined;
  /** Undefined: there is none yet. */
  readonly certificate: CertificateFacts | undefined;
  /** What was asked for last. */
  readonly requested: CertificateTemplate | undefined;
  /** The name of the request that is to be approved and signed. */
  readonly requestName: string | undefined;
  /** In a row. */
  readonly failures: number;
  /** Why the last request failed; undefined after a success. */
  readonly problem: string | undefined;
  /** The server answered the last request, and refused it. */
  readonly isRefused: boolean;
  /** When the state of the region Renewal began. Unix milliseconds, as all times here. */
  readonly since: number;
  /** When the certificate is to be renewed. */
  readonly renewAt: number;
  /** When the next request is sent after one that failed. */
  readonly retryAt: number;
  /** When the last valid certificate was lost. */
  readonly missingSince: number;
}

interface Timed {
  readonly at: number;
}

/** `random` is in [0, 1). */
interface Chance {
  readonly random: number;
}

export type CertificateEvent =
  | ({
      readonly type: 'START';
      readonly template: CertificateTemplate | undefined;
      readonly certificate: CertificateFacts | undefined;
      /** The certificate serves only to ask for the first one of the agent's own. */
      readonly mustRenew: boolean;
    } & Timed &
      Chance)
  | ({ readonly type: 'TEMPLATE'; readonly template: CertificateTemplate | undefined } & Timed)
  | ({ readonly type: 'REQUESTED'; readonly name: string } & Timed)
  | ({ readonly type: 'ISSUED'; readonly certificate: CertificateFacts } & Timed & Chance)
  | ({ readonly type: 'REQUEST_FAILED'; readonly problem: string; readonly isRefused: boolean } & Timed &
      Chance)
  | ({ readonly type: 'RENEWAL_TIMER' } & Timed)
  | ({ readonly type: 'VALIDITY_TIMER' } & Timed);

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

/** The certificate says what the template asks for; without a template there is nothing to ask for. */
function fits(certificate: CertificateFacts | undefined, template: CertificateTemplate | undefined): boolean {
  return certificate !== undefined && (template === undefined || satisfiesTemplate(certificate, template));
}

function isSame(one: CertificateTemplate | undefined, other: CertificateTemplate | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function dueTime({ rotates }: CertificateInput, certificate: CertificateFacts, random: number): number {
  return rotates ? renewalTime(certificate, random) : Infinity;
}

const ask = asksOf('certificate', 'src/agent/actors/cluster/certificate-manager.ts');

// Transitions of several states. Each stands for one transition, so that the Stately editor draws them.

/** What is asked for next. */
const OTHER_TEMPLATE = { actions: ['recordTemplate'] } as const;
const FAILED = { actions: ['recordFailure', 'reportFailure', 'enter'], target: 'BackingOff' } as const;

export const certificateMachine = setup({
  types: {
    context: {} as CertificateContext,
    events: {} as CertificateEvent,
    input: {} as CertificateInput,
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
    isDue: ({ context, event }) => event.at >= context.renewAt,
    isDueWithoutAddress: ({ context, event }) =>
      event.at >= context.renewAt && context.template === undefined,
    isNotVital: ({ context }) => !context.isVital,
    isValid: ({ event }) =>
      event.type === 'START' && event.certificate !== undefined && !isExpired(event.certificate, event.at),
    hasExpired: ({ context, event }) =>
      context.certificate === undefined || isExpired(context.certificate, event.at),
    isRefused: ({ context }) => context.isRefused,
    wasRefused: ({ event }) => event.type === 'REQUEST_FAILED' && event.isRefused,
  },
  actions: {
    enter: assign({ since: ({ event }) => event.at }),
    recordStart: assign(({ context, event }) => {
      if (event.type !== 'START') return {};
      const { template, certificate, at, random } = event;
      return { template, certificate, renewAt: certificate ? dueTime(context, certificate, random) : at };
    }),
    recordTemplate: assign(({ event }) => (event.type === 'TEMPLATE' ? { template: event.template } : {})),
    recordRequest: assign({ requested: ({ context }) => context.template }),
    recordName: assign(({ event }) => (event.type === 'REQUESTED' ? { requestName: event.name } : {})),
    recordIssue: assign(({ context, event }) =>
      event.type === 'ISSUED'
        ? {
            certificate: event.certificate,
            renewAt: dueTime(context, event.certificate, event.random),
            requestName: undefined,
            failures: 0,
            problem: undefined,
            isRefused: false,
          }
        : {},
    ),
    recordFailure: assign(({ context, event }) =>
      event.type === 'REQUEST_FAILED'
        ? {
            failures: context.failures + 1,
            problem: event.problem,
            isRefused: event.isRefused,
            requestName: undefined,
            retryAt: event.at + retryDelayMs(context.failures + 1, event.random),
          }
        : {},
    ),
    recordLoss: assign({ missingSince: ({ event }) => event.at }),

    // Asked of the actor.
    sendRequest: ask(),
    awaitCertificate: ask(),
    stopWaiting: ask(),
    armRenewal: ask(),
    armRetry: ask(),
    disarmRenewal: ask(),
    armValidity: ask(),
    reportIssue: ask(),
    reportFailure: ask(),
    reportMissing: ask(),
    giveUp: ask(),
  },
}).createMachine({
  id: 'certificate',
  description: 'One certificate of the node, asked for at the API server',
  context: initialContext,
  type: 'parallel',
  states: {
    Renewal: {
      initial: 'Idle',
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
          description: 'The node has no IP address yet: a certificate without one is not signed',
          on: {
            TEMPLATE: [
              { guard: 'needsOther', actions: ['recordTemplate', 'enter'], target: 'Requesting' },
              { guard: 'fitsNow', actions: ['recordTemplate', 'enter'], target: 'Settled' },
            ],
          },
        },
        Settled: {
          description: 'There is a certificate; before it expires, another one is asked for',
          entry: ['armRenewal'],
          exit: ['disarmRenewal'],
          on: {
            RENEWAL_TIMER: [
              { guard: 'isDueWithoutAddress', actions: ['enter'], target: 'AwaitingAddresses' },
              { guard: 'isDue', actions: ['enter'], target: 'Requesting' },
              { description: 'A long wait is made of short ones', actions: ['armRenewal'] },
            ],
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
          entry: ['recordRequest', 'sendRequest'],
          on: {
            TEMPLATE: OTHER_TEMPLATE,
            REQUESTED: { actions: ['recordName', 'enter'], target: 'AwaitingCertificate' },
            REQUEST_FAILED: FAILED,
          },
        },
        AwaitingCertificate: {
          description: 'The request is to be approved and signed',
          entry: ['awaitCertificate'],
          exit: ['stopWaiting'],
          always: {
            description: 'What was asked for is not what is needed any more',
            guard: 'isOutdated',
            actions: ['enter'],
            target: 'Requesting',
          },
          on: {
            ISSUED: { actions: ['recordIssue', 'reportIssue', 'enter'], target: 'Settled' },
            REQUEST_FAILED: FAILED,
            TEMPLATE: OTHER_TEMPLATE,
          },
        },
        BackingOff: {
          description: 'The last request failed; the next one is sent after a while',
          entry: ['armRetry'],
          exit: ['disarmRenewal'],
          on: {
            RENEWAL_TIMER: [
              { guard: 'lacksAddress', actions: ['enter'], target: 'AwaitingAddresses' },
              { actions: ['enter'], target: 'Requesting' },
            ],
            TEMPLATE: OTHER_TEMPLATE,
          },
        },
      },
    },
    Validity: {
      initial: 'Idle',
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
        Unwatched: { description: 'The agent goes on without this certificate' },
        Valid: {
          description: 'There is a certificate that has not expired',
          entry: ['armValidity'],
          on: {
            VALIDITY_TIMER: [
              { guard: 'hasExpired', actions: ['recordLoss', 'reportMissing'], target: 'Missing' },
              { actions: ['armValidity'] },
            ],
          },
        },
        Missing: {
          description:
            'There is no valid certificate: after five minutes the agent ends, if the server refuses to give one',
          entry: ['armValidity'],
          on: {
            ISSUED: { target: 'Valid' },
            VALIDITY_TIMER: [{ guard: 'isRefused', target: 'GivenUp' }, { target: 'Overdue' }],
          },
        },
        Overdue: {
          description:
            'The server has not refused to give a certificate, or does not answer: the agent goes on',
          on: {
            ISSUED: { target: 'Valid' },
            REQUEST_FAILED: { guard: 'wasRefused', target: 'GivenUp' },
          },
        },
        GivenUp: {
          description: 'Only another start can help: with other credentials',
          entry: ['giveUp'],
        },
      },
    },
  },
});
