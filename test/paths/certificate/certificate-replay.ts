/** One path of the certificate machine, replayed against the production manager, with a server that answers at the steps. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import type { InspectionEvent } from 'xstate';
import { CertificateManager } from '../../../src/agent/actors/cluster/certificate-manager.ts';
import { certificatePair } from '../../../src/agent/cluster/credentials/certificate-pair.ts';
import { CertificateStore } from '../../../src/agent/cluster/credentials/certificate-store.ts';
import { signingRequest } from '../../../src/agent/cluster/credentials/made-certificates.ts';
import { ApiError } from '../../../src/agent/cluster/service/api-error.ts';
import type {
  CertificateEvent,
  certificateMachine,
} from '../../../src/agent/machines/certificate-machine.ts';
import { type CertificateFacts, CLIENT_PURPOSE } from '../../../src/agent/policies/cluster/certificates.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import { StateletError } from '../../../src/types/errors.ts';
import { CertificateServer } from '../../support/certificate-server.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { Coverage } from '../coverage.ts';
import type { Path, Step } from '../paths.ts';
import { replaying } from '../replaying.ts';
import {
  type CertificateState,
  EVENTS,
  type EventName,
  essence,
  type Kind,
  LIFE_MS,
  type Regions,
  TEMPLATES,
} from './certificate-environment.ts';
import { testContext } from '../../support/test-context.ts';

type StartEvent = Extract<CertificateEvent, { readonly type: 'START' }>;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

export async function replayCertificate(
  kind: Kind,
  path: Path<typeof certificateMachine>,
  coverage: Coverage,
): Promise<void> {
  const replay = new CertificateReplay(kind, coverage);
  const steps = async () => {
    for (const step of path) await replay.step(step);
    replay.stop();
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
      if (event.type === '@xstate.snapshot') this.#state = event.snapshot as CertificateState;
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
    const reached = () => this.#state !== undefined && this.#state.value;
    await waitFor(() => JSON.stringify(reached()) === JSON.stringify(after.value) && this.#isAtRest(), {
      what: `${JSON.stringify(after.value)} after ${name}; it is ${JSON.stringify(reached())}`,
      pauseMs: 1,
      timeoutMs: 5_000,
    });
    const { value, context } = this.#state!;
    expect({ value, ...essence(context) }).toEqual(expected);
    this.#check(value);
  }

  stop(): void {
    this.#manager.stop();
    expect([this.#clock.armed, this.#connections, this.#server.watches]).toEqual([0, 0, 0]);
  }

  end(): void {
    this.#manager.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** What was asked for has arrived at the server. */
  #isAtRest(): boolean {
    const { Renewal } = this.#state?.value as unknown as Regions;
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
    if (event.type === 'REQUESTED') {
      this.#request = this.#server.accept();
      return;
    }
    if (event.type === 'ISSUED') {
      const now = this.#clock.now();
      this.#server.issue(this.#request, { notBefore: now, notAfter: now + LIFE_MS });
      return;
    }
    const others: Partial<Record<EventName, () => void | Promise<void>>> = {
      unanswered: () => this.#server.fail(new StateletError('Unavailable', 'no route')),
      refused: () => this.#server.fail(new ApiError('no', { status: 403, reason: 'Forbidden' })),
      denied: () => this.#server.deny(this.#request),
      tooLate: () => this.#advanceTo(this.#manager.context.since + 15 * MINUTE_MS),
      hour: () => this.#clock.advance(HOUR_MS),
      validityHour: () => this.#clock.advance(HOUR_MS),
      renewal: () => this.#advanceTo(this.#manager.context.renewAt),
      retry: () => this.#advanceTo(this.#manager.context.retryAt),
      expiry: () => this.#advanceTo((this.#manager.context.certificate?.notAfter ?? 0) + 1),
      fiveMinutes: () => this.#advanceTo(this.#manager.context.missingSince + 5 * MINUTE_MS),
    };
    await others[name]?.();
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
