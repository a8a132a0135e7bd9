/** A server whose certificate is wrong for a while: the error names the server and what would be right, and it ends with the right certificate. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openApiClients } from '../../../../src/agent/cluster/client/open-api-clients.ts';
import { DoubleFaults } from '../../../support/api-server/faults/double-faults.ts';
import { FixedCredentials } from '../../../support/api/fixed-credentials.ts';
import { ObservedConnection } from '../../../support/api/observed-connection.ts';
import { describeOnControlPlane } from '../../../support/control-plane.ts';
import {
  CertificateAuthority,
  type CertificateRequest,
} from '../../../support/control-plane/certificates.ts';

const NODES = { resource: 'nodes' } as const;
const RIGHT = 'apiserver';
const DAY_MS = 24 * 3_600_000;

type Wrong = Partial<Pick<CertificateRequest, 'alternativeNames' | 'notBefore' | 'signer'>>;

describeOnControlPlane('a server with a wrong certificate', { programs: 'double' }, (controlPlane) => {
  let faults: DoubleFaults;
  let clients: ReturnType<typeof openApiClients>;
  let observer: ObservedConnection;

  beforeEach(async () => {
    faults = await new DoubleFaults(controlPlane).open();
    observer = new ObservedConnection();
    const credentials = new FixedCredentials(controlPlane.details('admin'));
    clients = openApiClients(credentials, observer, { userAgent: 'statelet/test', env: {} });
  });
  afterEach(() => {
    clients.close();
    faults.close();
  });

  const ask = () => clients.main.list(NODES);
  const host = () => new URL(controlPlane.server).host;

  /** The certificate is valid for a day. */
  async function serve(name: string, wrong: Wrong): Promise<void> {
    const { ca } = controlPlane;
    const right = { usage: 'server auth', alternativeNames: 'IP:127.0.0.1' } as const;
    ca.issue({ name, commonName: 'kube-apiserver', ...right, days: 1, ...wrong });
    await faults.serveCertificate(name);
  }

  test.each<[string, Wrong, string]>([
    [
      'of another name',
      { alternativeNames: 'DNS:other.test' },
      "the server's certificate is for DNS:other.test, and not for 127.0.0.1: server of the kubeconfig, or its tls-server-name, should be a name that the certificate has",
    ],
    [
      'that has expired',
      { notBefore: Date.now() - 2 * DAY_MS },
      "the server's certificate has expired, by the clock of this machine: one of the two should be renewed or set right",
    ],
    [
      'that is not valid yet',
      { notBefore: Date.now() + DAY_MS },
      "the server's certificate is not yet valid, by the clock of this machine: one of the two should be renewed or set right",
    ],
  ])('a certificate %s', async (what, wrong, problem) => {
    await serve(what.replaceAll(' ', '-'), wrong);
    const whole = `GET /api/v1/nodes: TLS with ${host()}: ${problem}`;
    await expect(ask()).rejects.toMatchObject({ kind: 'Unavailable', message: whole });
    expect(observer.heard).toEqual([`failed: ${whole}`]);
    await faults.serveCertificate(RIGHT);
    await ask();
  });

  test('a certificate of another authority', async () => {
    const dir = join(controlPlane.dir, 'others');
    mkdirSync(dir);
    const signer = new CertificateAuthority(dir).create();
    await serve('of-others', { signer });
    await expect(ask()).rejects.toThrow(
      /^GET \/api\/v1\/nodes: TLS with 127\.0\.0\.1:\d+: .*: certificate-authority of the kubeconfig should be the one that signed the server's certificate$/,
    );
    await faults.serveCertificate(RIGHT);
    await ask();
  });

  test('a certificate that changes while the server is spoken to', async () => {
    await ask();
    await serve('changed', { alternativeNames: 'DNS:other.test' });
    // What is connected stays so.
    await ask();
    await faults.breakConnections();
    await expect(ask()).rejects.toThrow(/is for DNS:other\.test, and not for 127\.0\.0\.1/);
    await serve('renewed', {});
    await ask();
  });
});
