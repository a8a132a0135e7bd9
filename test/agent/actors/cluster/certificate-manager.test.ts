import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { firstValueFrom } from 'rxjs';
import {
  CertificateManager,
  type CertificateManagerParts,
} from '../../../../src/agent/actors/cluster/certificate-manager.ts';
import {
  type CertificatePair,
  certificatePair,
} from '../../../../src/agent/cluster/credentials/certificate-pair.ts';
import { CertificateStore, KeptKey } from '../../../../src/agent/cluster/credentials/certificate-store.ts';
import { signingRequest } from '../../../../src/agent/cluster/credentials/made-certificates.ts';
import { ApiError } from '../../../../src/agent/cluster/service/api-error.ts';
import { CLIENT_PURPOSE, clientTemplate } from '../../../../src/agent/policies/cluster/certificates.ts';
import { settled, VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import { CertificateServer } from '../../../support/certificate-server.ts';
import { RecordedMeasurements } from '../../../support/recorded-measurements.ts';
import { testContext } from '../../../support/test-context.ts';
import { waitFor } from '../../../support/wait-for.ts';
import type { Measurements } from '../../../../src/types/measurements.ts';

const MINUTE = 60_000;
const template = clientTemplate('node-1');

let folder: string;
let clock: VirtualClock;
let server: CertificateServer;
let store: CertificateStore;
let manager: CertificateManager;
let hasGivenUp: boolean;
let connections: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'statelet-certificates-'));
  [clock, server, store] = [
    new VirtualClock(),
    new CertificateServer(),
    new CertificateStore(folder, 'kubelet-client'),
  ];
  [hasGivenUp, connections] = [false, 0];
  manager = open();
});
afterEach(async () => {
  manager.stop();
  await settled();
  expect(clock.armed).toBe(0);
  expect(connections).toBe(0);
  rmSync(folder, { recursive: true, force: true });
});

function open(more: Partial<CertificateManagerParts> = {}, measurements?: Measurements): CertificateManager {
  return new CertificateManager(testContext({ clock, measurements }), {
    kind: 'client',
    purpose: CLIENT_PURPOSE,
    store,
    rotates: true,
    onGiveUp: () => (hasGivenUp = true),
    connect: () => {
      connections += 1;
      return { main: server.api, close: () => (connections -= 1) };
    },
    sign: (input) => Promise.resolve(signingRequest(input)),
    ...more,
  });
}

const start = (pair?: CertificatePair) => manager.start({ template, pair, mustRenew: false });
const state = () => manager.describe().split(' ')[0];
const asked = () => waitFor(() => server.pending > 0, { what: 'a certificate signing request' });
const inState = (name: string) => waitFor(() => state() === name, { what: name });
const hour = (from: number, hours: number) => ({ notBefore: from, notAfter: from + hours * 60 * MINUTE });

/** Asks, and waits until the request is watched. */
async function submitted(): Promise<string> {
  await asked();
  const name = server.accept();
  await waitFor(() => server.watches === 1, { what: 'a watch' });
  return name;
}

async function issued(hours: number): Promise<void> {
  const name = await submitted();
  const change = firstValueFrom(manager.changes);
  server.issue(name, hour(clock.now(), hours));
  await change;
}

describe('the manager of a certificate', () => {
  test('requests it with a new key, stores the certificate, and renews it in time with another key', async () => {
    start();
    expect(manager.current()).toBeUndefined();
    await issued(10);
    const first = manager.current();
    expect(await store.current()).toEqual(first);
    await clock.advance(7 * 60 * MINUTE - 1);
    expect(state()).toBe('Settled');
    await clock.advance(1);
    await issued(10);
    expect(manager.current()?.key).not.toBe(first?.key);
    expect(await store.current()).toEqual(manager.current());
  });

  test('has no certificate any more when it has expired', async () => {
    start();
    await issued(1);
    expect(manager.current()).toBeDefined();
    await clock.advance(61 * MINUTE);
    expect(manager.current()).toBeUndefined();
  });

  test('says what it waits for', async () => {
    start();
    const name = await submitted();
    expect(manager.describe()).toBe(
      `AwaitingCertificate since 2030-01-01T00:00:00Z, certificate signing request ${name}`,
    );
    expect(manager.awaited()).toBe(`the certificate signing request ${name} waits to be approved and signed`);
    server.deny(name);
    await inState('BackingOff');
    expect(manager.awaited()).toBe(
      `the certificate signing request ${name} brings no certificate: it was denied: Unknown who is it?`,
    );
    expect(manager.describe()).toContain(`${name} brings no certificate: it was denied: Unknown who is it?`);
  });

  test('counts each request that brings no certificate', async () => {
    const measurements = new RecordedMeasurements();
    manager = open({}, measurements);
    start();
    server.deny(await submitted());
    await inState('BackingOff');
    expect(measurements.told).toEqual(['client certificate not renewed']);
  });

  test('measures the age of a certificate that another one replaces', async () => {
    const measurements = new RecordedMeasurements();
    manager = open({}, measurements);
    start();
    await issued(10);
    expect(measurements.told).toEqual([]);
    await clock.advance(7 * 60 * MINUTE);
    await issued(10);
    expect(measurements.told).toEqual([`client certificate rotated after ${7 * 60 * MINUTE} ms`]);
  });

  test('asks again when the request is not signed within a quarter of an hour', async () => {
    start();
    const name = await submitted();
    await clock.advance(15 * MINUTE - 1);
    expect(state()).toBe('AwaitingCertificate');
    await clock.advance(1);
    expect(manager.describe()).toContain(`${name} was not approved and signed within 15 minutes`);
    expect(server.watches).toBe(0);
    await clock.advance(2_000);
    expect(await submitted()).not.toBe(name);
  });

  test('asks again when the server does not answer', async () => {
    start();
    await asked();
    server.fail(new StateletError('Unavailable', 'no route to host'));
    await inState('BackingOff');
    await clock.advance(1_999);
    expect(server.pending).toBe(0);
    await clock.advance(1);
    await issued(1);
  });

  test('sees a certificate that was issued while its watch was broken', async () => {
    start();
    await asked();
    const name = server.accept();
    server.issue(name, hour(clock.now(), 1));
    await inState('Settled');
  });

  test('does not use a certificate of another key', async () => {
    start();
    const name = await submitted();
    const { cert } = server.authority.keyPair();
    server.change(name, {
      conditions: [{ type: 'Approved', status: 'True' }],
      certificate: Buffer.from(cert).toString('base64'),
    });
    await inState('BackingOff');
    expect(manager.describe()).toContain('holds a key that is not that of its certificate');
    expect(await store.current()).toBeUndefined();
  });

  test('goes on with the same request under its own name where it does not rotate', async () => {
    const keptKey = new KeptKey(folder);
    manager = open({ rotates: false, keptKey });
    start();
    const name = await submitted();
    expect(name).toMatch(/^node-csr-/);
    manager.stop();
    manager = open({ rotates: false, keptKey });
    start();
    expect(await submitted()).toBe(name);
    server.issue(name, hour(clock.now(), 1));
    await inState('Settled');
    await clock.advance(120 * MINUTE);
    expect(state()).toBe('Settled');
  });
});

describe('an agent without a valid client certificate', () => {
  const forbidden = new ApiError('may not create', { status: 403, reason: 'Forbidden' });

  test('gives up after five minutes if the server refuses', async () => {
    start();
    await asked();
    server.fail(forbidden);
    await inState('BackingOff');
    await clock.advance(5 * MINUTE - 1);
    expect(hasGivenUp).toBe(false);
    await clock.advance(1);
    expect(hasGivenUp).toBe(true);
  });

  test('goes on while its request waits, and while the server does not answer', async () => {
    start();
    await submitted();
    await clock.advance(14 * MINUTE);
    expect(hasGivenUp).toBe(false);
    await clock.advance(MINUTE + 2_000);
    await asked();
    server.fail(new StateletError('Unavailable', 'no route to host'));
    await inState('BackingOff');
    await clock.advance(4_000);
    await asked();
    server.fail(forbidden);
    await inState('BackingOff');
    expect(hasGivenUp).toBe(true);
  });

  test('asks at once when it starts with one that has expired', async () => {
    const { cert, key } = server.authority.keyPair({
      commonName: template.commonName,
      organization: 'system:nodes',
      ...hour(clock.now() - 120 * MINUTE, 1),
    });
    start(certificatePair(cert, key));
    expect(manager.current()).toBeUndefined();
    await clock.advance(0);
    await issued(1);
  });
});
