/** The events of a certificate: the start of the agent, addresses of the node, answers of the API server, and time. */
import type { SnapshotFrom } from 'xstate';
import {
  certificateMachine,
  type CertificateEvent,
} from '../../../src/agent/machines/certificate-machine.ts';
import { clientTemplate } from '../../../src/agent/policies/cluster/certificates.ts';
import type { Environment } from '../paths.ts';

export type CertificateState = SnapshotFrom<typeof certificateMachine>;

/** `serving`: the template depends on addresses, and the agent goes on without it. */
export type Kind = 'client' | 'serving';

/** Much longer than a request may wait, and so that its renewal is far from its end. */
export const LIFE_MS = 100 * 3_600_000;
/** Before and after all other times of the environment. */
const [EARLY, LATE] = [-Infinity, Infinity];

export const TEMPLATES = {
  first: { ...clientTemplate('node-1'), ipAddresses: ['10.0.0.1'] },
  second: { ...clientTemplate('node-1'), ipAddresses: ['10.0.0.2'] },
};
const NODE = { ...TEMPLATES.first, notBefore: 0, notAfter: LIFE_MS };

/** The certificates with which an agent may start. */
export const CERTIFICATES = {
  valid: NODE,
  expired: { ...NODE, notBefore: -LIFE_MS, notAfter: -1 },
  foreign: { ...NODE, commonName: 'admin' },
};

const start = { type: 'START', template: TEMPLATES.first, mustRenew: false, at: 0, random: 0 } as const;
const failure = { type: 'REQUEST_FAILED', problem: 'why', isRefused: false, at: 0, random: 0 } as const;
const issue = { type: 'ISSUED', at: 0, random: 0 } as const;

export const EVENTS = {
  startWithout: { ...start, certificate: undefined },
  startValid: { ...start, certificate: CERTIFICATES.valid },
  startGiven: { ...start, certificate: CERTIFICATES.valid, mustRenew: true },
  startExpired: { ...start, certificate: CERTIFICATES.expired },
  startForeign: { ...start, certificate: CERTIFICATES.foreign },
  startUnaddressed: { ...start, template: undefined, certificate: undefined },
  startUnaddressedValid: { ...start, template: undefined, certificate: CERTIFICATES.valid },
  firstAddress: { type: 'TEMPLATE', template: TEMPLATES.first, at: 1 },
  secondAddress: { type: 'TEMPLATE', template: TEMPLATES.second, at: 1 },
  noAddress: { type: 'TEMPLATE', template: undefined, at: 1 },
  requested: { type: 'REQUESTED', name: 'csr', at: 0 },
  unanswered: failure,
  refused: { ...failure, isRefused: true },
  issuedFirst: { ...issue, certificate: NODE },
  issuedSecond: { ...issue, certificate: { ...NODE, ...TEMPLATES.second } },
  denied: { ...failure, problem: 'it was denied' },
  tooLate: { ...failure, problem: 'it took too long' },
  /** An hour passes. */
  hour: { type: 'RENEWAL_TIMER', at: EARLY },
  renewal: { type: 'RENEWAL_TIMER', at: LATE },
  retry: { type: 'RENEWAL_TIMER', at: LATE },
  validityHour: { type: 'VALIDITY_TIMER', at: EARLY },
  expiry: { type: 'VALIDITY_TIMER', at: LATE },
  fiveMinutes: { type: 'VALIDITY_TIMER', at: LATE },
} as const satisfies Readonly<Record<string, CertificateEvent>>;
export type EventName = keyof typeof EVENTS;

export function certificateEnvironment(kind: Kind): Environment<typeof certificateMachine> {
  return {
    machine: certificateMachine,
    input: { rotates: true, isVital: kind === 'client' },
    events: EVENTS,
    possible: (state) => possible(kind, state),
    label: (state) => JSON.stringify(labelOf(kind, state)),
  };
}

/** Whether a request was refused matters only where the agent may give up. */
function labelOf(kind: Kind, { value, context }: CertificateState): object {
  const { hasProblem, isRefused, ...rest } = essence(context);
  const isExpired = (context.certificate?.notAfter ?? 0) < 0;
  return {
    value,
    ...rest,
    isExpired,
    ...(kind === 'client' ? { hasProblem, isRefused } : { isFresh: isFresh(context) }),
  };
}

/** The state began with a start or a new certificate. After a change of addresses, the renewal may be overdue already. */
function isFresh({ since }: CertificateState['context']): boolean {
  return since === 0;
}

/** The parts of the context that decide what comes next. */
export function essence({
  template,
  requested,
  certificate,
  problem,
  isRefused,
}: CertificateState['context']) {
  return {
    template: template?.ipAddresses,
    requested: requested?.ipAddresses,
    certificate: certificate && [certificate.commonName, certificate.ipAddresses],
    hasProblem: problem !== undefined,
    isRefused,
  };
}

export interface Regions {
  readonly Renewal: string;
  readonly Validity: string;
}

/** An hour and the end of a certificate are far away where the agent waits for less. */
function possible(kind: Kind, { value, context }: CertificateState): readonly EventName[] {
  const { Renewal, Validity } = value as Regions;
  if (Validity === 'GivenUp') return [];
  if (Renewal === 'Idle') return starts(kind);
  const addresses = kind === 'serving' ? (['firstAddress', 'secondAddress', 'noAddress'] as const) : [];
  return [...addresses, ...ofRenewal(Renewal, Validity, context), ...ofValidity(Renewal, Validity)];
}

function starts(kind: Kind): readonly EventName[] {
  return kind === 'client'
    ? ['startWithout', 'startValid', 'startGiven', 'startForeign', 'startExpired']
    : ['startWithout', 'startUnaddressed', 'startUnaddressedValid'];
}

function ofRenewal(
  renewal: string,
  validity: string,
  context: CertificateState['context'],
): readonly EventName[] {
  switch (renewal) {
    case 'Settled':
      return isFresh(context) && validity !== 'Missing' ? ['hour', 'renewal'] : ['renewal'];
    case 'Requesting':
      return ['requested', 'unanswered', ...(validity === 'Unwatched' ? [] : (['refused'] as const))];
    case 'AwaitingCertificate': {
      const issued = context.requested === TEMPLATES.second ? 'issuedSecond' : 'issuedFirst';
      return validity === 'Missing' ? [issued, 'denied'] : [issued, 'denied', 'tooLate'];
    }
    case 'BackingOff':
      return ['retry'];
    default:
      return [];
  }
}

function ofValidity(renewal: string, validity: string): readonly EventName[] {
  if (validity === 'Valid' && renewal === 'Settled') return ['validityHour'];
  if (validity === 'Valid' && renewal === 'Requesting') return ['expiry'];
  const isPatient = renewal === 'Requesting' || renewal === 'AwaitingCertificate';
  return validity === 'Missing' && isPatient ? ['fiveMinutes'] : [];
}
