/** The paths of the certificate machine, replayed against the production manager. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { InspectionEvent, SnapshotFrom } from 'xstate';
import { afterAll, expect, test } from '@jest/globals';
import {
  type CertificateEvent,
  certificateMachine,
} from '../../../src/agent/machines/certificate-machine.ts';
import {
  type CertificateFacts,
  CLIENT_PURPOSE,
  clientTemplate,
} from '../../../src/agent/policies/cluster/certificates.ts';
import { type Environment, joinedPaths, type Path, type Step } from '../paths.ts';
import { CertificateManager } from '../../../src/agent/actors/cluster/certificate-manager.ts';
import { certificatePair } from '../../../src/agent/cluster/credentials/certificate-pair.ts';
import { CertificateStore } from '../../../src/agent/cluster/credentials/certificate-store.ts';
import { signingRequest } from '../../../src/agent/cluster/credentials/made-certificates.ts';
import { ApiError } from '../../../src/agent/cluster/service/api-error.ts';
import { settled, VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import { StateletError } from '../../../src/types/errors.ts';
import { CertificateServer } from '../../support/certificate-server.ts';
import { done, failed } from '../../support/child-events.ts';
import { waitFor } from '../../support/wait-for.ts';
import { Coverage } from '../coverage.ts';
import { replaying } from '../replaying.ts';
import { testContext } from '../../support/test-context.ts';

type CertificateState = SnapshotFrom<typeof certificateMachine>;

/** `serving`: the template depends on addresses, and the agent goes on without it. */
type Kind = 'client' | 'serving';

/** Much longer than a request may wait, and so that its renewal is far from its end. */
const LIFE_MS = 100 * 3_600_000;
const LATER = { at: Infinity };

const TEMPLATES = {
  first: { ...clientTemplate('node-1'), ipAddresses: ['10.0.0.1'] },
  second: { ...clientTemplate('node-1'), ipAddresses: ['10.0.0.2'] },
};
const NODE = { ...TEMPLATES.first, notBefore: 0, notAfter: LIFE_MS };

/** The certificates with which an agent may start. */
const CERTIFICATES = {
  valid: NODE,
  expired: { ...NODE, notBefore: -LIFE_MS, notAfter: -1 },
  foreign: { ...NODE, commonName: 'admin' },
};

const start = { type: 'START', template: TEMPLATES.first, mustRenew: false, at: 0, random: 0 } as const;
const failure = { problem: 'why', isRefused: false, at: 0, random: 0 };
const issue = { at: 0, random: 0 };

const EVENTS = {
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
  requested: done('sendRequest', { name: 'csr', at: 0 }),
  unanswered: failed('sendRequest', failure),
  refused: failed('sendRequest', { ...failure, isRefused: true }),
  issuedFirst: done('awaitCertificate', { ...issue, certificate: NODE }),
  issuedSecond: done('awaitCertificate', { ...issue, certificate: { ...NODE, ...TEMPLATES.second } }),
  denied: failed('awaitCertificate', { ...failure, problem: 'it was denied' }),
  tooLate: failed('awaitCertificate', { ...failure, problem: 'it took too long' }),
  renewal: done('untilRenewal', LATER),
  retry: done('untilRetry', LATER),
  expiry: done('untilExpiry', LATER),
  fiveMinutes: done('untilGivenUp', LATER),
} as const satisfies Readonly<Record<string, CertificateEvent>>;
type EventName = keyof typeof EVENTS;

function certificateEnvironment(kind: Kind): Environment<typeof certificateMachine> {
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
function essence({ template, requested, certificate, problem, isRefused }: CertificateState['context']) {
  return {
    template: template?.ipAddresses,
    requested: requested?.ipAddresses,
    certificate: certificate && [certificate.commonName, certificate.ipAddresses],
    hasProblem: problem !== undefined,
    isRefused,
  };
}

interface Regions {
  readonly Renewal: string;
  readonly Validity: string;
}

/** The end of a certificate is far away where the agent waits for less. */
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
      return ['renewal'];
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
  if (validity === 'Valid' && renewal === 'Requesting') return ['expiry'];
  const isPatient = renewal === 'Requesting' || renewal === 'AwaitingCertificate';
  return validity === 'Missing' && isPatient ? ['fiveMinutes'] : [];
}

type StartEvent = Extract<CertificateEvent, { readonly type: 'START' }>;

const MINUTE_MS = 60_000;

async function replayCertificate(
  kind: Kind,
  path: Path<typeof certificateMachine>,
  coverage: Coverage,
): Promise<void> {
  const replay = new CertificateReplay(kind, coverage);
  const steps = async () => {
    for (const step of path) await replay.step(step);
    await replay.stop();
  };
  await replaying({ path, coverage, of: kind, steps, end: () => replay.end() });
}

class CertificateReplay {
  readonly #folder = mkdtempSync(join(tmpdir(), 'statelet-certificate-paths-'));
  readonly #clock = new VirtualClock();
  readonly #server = new CertificateServer();
  readonly #manager: CertificateManager;
  #state: CertificateState | undefined;
  #request = '';
  #connections = 0;
  #hasGivenUp = false;

  constructor(kind: Kind, coverage: Coverage) {
    const inspect = (event: InspectionEvent) => {
      coverage.inspect(event);
      // Requests have snapshots, too.
      if (event.type === '@xstate.snapshot' && 'value' in event.snapshot)
        this.#state = event.snapshot as CertificateState;
    };
    this.#manager = new CertificateManager(testContext({ clock: this.#clock, inspect }), {
      kind,
      purpose: CLIENT_PURPOSE,
      store: new CertificateStore(this.#folder, 'kubelet'),
      rotates: true,
      onGiveUp: kind === 'client' ? () => (this.#hasGivenUp = true) : undefined,
      connect: () => {
        this.#connections += 1;
        return { main: this.#server.api, close: () => (this.#connections -= 1) };
      },
      sign: (input) => Promise.resolve(signingRequest(input)),
    });
  }

  async step({ name, after }: Step<typeof certificateMachine>): Promise<void> {
    await this.#bringAbout(name as EventName);
    const expected = { value: after.value, ...essence(after.context) };
    const reached = () => this.#state?.value;
    await waitFor(() => JSON.stringify(reached()) === JSON.stringify(after.value) && this.#isAtRest(), {
      what: `${JSON.stringify(after.value)} after ${name}; it is ${JSON.stringify(reached())}`,
      pauseMs: 1,
      timeoutMs: 5_000,
    });
    await settled();
    const { value, context } = this.#state!;
    expect({ value, ...essence(context) }).toEqual(expected);
    this.#check(value);
  }

  /** A certificate that is renewed in time is valid beyond the end of the former one. */
  async renewInTime(): Promise<Regions> {
    await this.#bringAbout('startValid');
    const end = this.#clock.now() + LIFE_MS + 1;
    await this.#bringAbout('renewal');
    for (const name of ['requested', 'issuedFirst'] as const) {
      await waitFor(() => this.#isAtRest(), { what: `the server to be asked before ${name}`, pauseMs: 1 });
      await this.#bringAbout(name);
    }
    await waitFor(() => this.#regions.Renewal === 'Settled', { what: 'the new certificate', pauseMs: 1 });
    await this.#advanceTo(end);
    return this.#regions;
  }

  /** Without a certificate for too long, the agent asks for one, and the server does not know the request. */
  async loseRequest(): Promise<Regions> {
    await this.#bringAbout('startWithout');
    await waitFor(() => this.#isAtRest(), { what: 'the server to be asked', pauseMs: 1 });
    await this.#bringAbout('fiveMinutes');
    this.#server.requests.delete(this.#server.accept());
    await waitFor(() => this.#regions.Renewal === 'BackingOff', { what: 'the end of the wait', pauseMs: 1 });
    return this.#regions;
  }

  async stop(): Promise<void> {
    this.#manager.stop();
    await settled();
    expect([this.#clock.armed, this.#connections, this.#server.watches]).toEqual([0, 0, 0]);
  }

  end(): void {
    this.#manager.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get #regions(): Regions {
    return this.#state?.value as unknown as Regions;
  }

  /** What was asked for has arrived at the server. */
  #isAtRest(): boolean {
    const { Renewal } = this.#regions;
    if (Renewal === 'Requesting') return this.#server.pending === 1;
    return Renewal !== 'AwaitingCertificate' || this.#server.watches === 1;
  }

  /** One thing is waited for at a time, and nothing stays connected. */
  #check({ Renewal, Validity }: Regions): void {
    const asks = Renewal === 'Requesting' || Renewal === 'AwaitingCertificate';
    const timers =
      (Renewal === 'Settled' || Renewal === 'BackingOff' || Renewal === 'AwaitingCertificate' ? 1 : 0) +
      (Validity === 'Valid' || Validity === 'Missing' ? 1 : 0);
    expect({
      timers: this.#clock.armed,
      connections: this.#connections,
      pending: this.#server.pending,
      watches: this.#server.watches,
      hasGivenUp: this.#hasGivenUp,
    }).toEqual({
      timers,
      connections: asks ? 1 : 0,
      pending: Renewal === 'Requesting' ? 1 : 0,
      watches: Renewal === 'AwaitingCertificate' ? 1 : 0,
      hasGivenUp: Validity === 'GivenUp',
    });
    if (Validity !== 'Unwatched') expect(this.#manager.current() !== undefined).toBe(Validity === 'Valid');
  }

  async #bringAbout(name: EventName): Promise<void> {
    const event: CertificateEvent = EVENTS[name];
    if (event.type === 'START') {
      this.#start(event);
      return;
    }
    if (event.type === 'TEMPLATE') {
      this.#manager.setTemplate(event.template);
      return;
    }
    const others: Partial<Record<EventName, () => void | Promise<void>>> = {
      requested: () => void (this.#request = this.#server.accept()),
      issuedFirst: () => this.#issue(),
      issuedSecond: () => this.#issue(),
      unanswered: () => this.#server.fail(new StateletError('Unavailable', 'no route')),
      refused: () => this.#server.fail(new ApiError('no', { status: 403, reason: 'Forbidden' })),
      denied: () => this.#server.deny(this.#request),
      tooLate: () => this.#advanceTo(this.#manager.context.since + 15 * MINUTE_MS),
      renewal: () => this.#advanceTo(this.#manager.context.renewAt),
      retry: () => this.#advanceTo(this.#manager.context.retryAt),
      expiry: () => this.#advanceTo((this.#manager.context.certificate?.notAfter ?? 0) + 1),
      fiveMinutes: () => this.#advanceTo(this.#manager.context.missingSince + 5 * MINUTE_MS),
    };
    await others[name]?.();
  }

  #issue(): void {
    const now = this.#clock.now();
    this.#server.issue(this.#request, { notBefore: now, notAfter: now + LIFE_MS });
  }

  #advanceTo(at: number): Promise<void> {
    return this.#clock.advance(Math.max(0, at - this.#clock.now()));
  }

  #start({ template, certificate, mustRenew }: StartEvent): void {
    this.#manager.start({ template, pair: certificate && this.#pairOf(certificate), mustRenew });
  }

  #pairOf({ commonName, notBefore, notAfter }: CertificateFacts) {
    const { cert, key } = this.#server.authority.keyPair({
      commonName,
      organization: 'system:nodes',
      ipAddresses: TEMPLATES.first.ipAddresses,
      notBefore: this.#clock.now() + notBefore,
      notAfter: this.#clock.now() + notAfter,
    });
    return certificatePair(cert, key);
  }
}

const coverage = new Coverage(certificateMachine);

afterAll(() => coverage.print('all events in all states'));

test.each(['client', 'serving'] as const)('every event in every state of a %s certificate', async (kind) => {
  const paths = joinedPaths(certificateEnvironment(kind));
  expect(paths.flat().length).toBeGreaterThan(150);
  for (const path of paths) await replayCertificate(kind, path, coverage);
});

test('a certificate that is renewed in time stays valid', async () => {
  const replay = new CertificateReplay('client', coverage);
  expect(await replay.renewInTime()).toEqual({ Renewal: 'Settled', Validity: 'Valid' });
  await replay.stop();
  replay.end();
});

test('an agent that was without a certificate for too long gives up when the server has lost its request', async () => {
  const replay = new CertificateReplay('client', coverage);
  expect(await replay.loseRequest()).toEqual({ Renewal: 'BackingOff', Validity: 'GivenUp' });
  await replay.stop();
  replay.end();
});

test('every state, transition and guard is covered', () => {
  expect(coverage.uncovered()).toEqual([]);
});
