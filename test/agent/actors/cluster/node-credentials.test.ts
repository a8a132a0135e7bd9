import { X509Certificate } from 'node:crypto';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { filter, firstValueFrom, NEVER } from 'rxjs';
import type { CertificateManager } from '../../../../src/agent/actors/cluster/certificate-manager.ts';
import {
  type NodeCredentials,
  openNodeCredentials,
} from '../../../../src/agent/actors/cluster/node-credentials.ts';
import { openApiClients } from '../../../../src/agent/cluster/client/open-api-clients.ts';
import type {
  ApiClients,
  ConnectionObserver,
  Credentials,
} from '../../../../src/agent/cluster/service/api-server.ts';
import { SERVING_PURPOSE } from '../../../../src/agent/policies/cluster/certificates.ts';
import { systemClock } from '../../../../src/system/timer.ts';
import type { CertificateSigningRequest } from '../../../../src/types/kubernetes.ts';
import { allowBootstrap, writeBootstrapKubeconfig } from '../../../support/control-plane/node-bootstrap.ts';
import { type ControlPlane, describeOnControlPlane } from '../../../support/control-plane.ts';
import { testContext } from '../../../support/test-context.ts';

const NODE = 'node-7';
const HOUR_MS = 3_600_000;
const silent: ConnectionObserver = {
  answered: () => undefined,
  unauthorized: () => undefined,
  failed: () => undefined,
};

let folder: string;
let certDir: string;
let kubeconfig: string;
let ends: (() => void)[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'statelet-node-credentials-'));
  [certDir, kubeconfig] = [join(folder, 'pki'), join(folder, 'kubeconfig')];
  ends = [];
});
afterEach(() => {
  for (const end of ends) end();
  rmSync(folder, { recursive: true, force: true });
});

const bootstrapKubeconfig = (controlPlane: ControlPlane) =>
  writeBootstrapKubeconfig(join(folder, 'bootstrap'), controlPlane);

interface Settings {
  readonly bootstrap?: string;
  readonly rotates?: boolean;
  readonly serving?: boolean;
  readonly aheadMs?: number;
}

async function open({ bootstrap = '', rotates = true, serving = false, aheadMs = 0 }: Settings = {}) {
  const clock = { ...systemClock, now: () => Date.now() + aheadMs };
  const credentials = await openNodeCredentials(testContext({ clock }), {
    settings: {
      kubeconfig,
      bootstrapKubeconfig: bootstrap,
      rotateCertificates: rotates,
      serverTLSBootstrap: serving,
    },
    certDir,
    nodeName: NODE,
    connect: clientsOf,
    onGiveUp: () => undefined,
  });
  ends.push(() => credentials.stop());
  return credentials;
}

function clientsOf(credentials: Credentials): ApiClients & { close(): void } {
  const clients = openApiClients(credentials, silent, { userAgent: 'test' });
  ends.push(() => clients.close());
  return clients;
}

async function issued(manager: CertificateManager | undefined, begin: () => Promise<void>): Promise<void> {
  if (manager === undefined) throw new Error('there is no certificate to ask for');
  await Promise.all([firstValueFrom(manager.changes), begin()]);
}

/** Whom the API server takes a node for. */
async function userOf(credentials: Credentials): Promise<string | undefined> {
  const { cert } = await credentials.current();
  return cert === undefined ? undefined : new X509Certificate(cert).subject.replace(/\n/g, ', ');
}

/** The API server lets only the node itself do this. */
async function listsItsPods({ credentials }: NodeCredentials): Promise<void> {
  await clientsOf(credentials).main.list({ resource: 'pods' }, { fieldSelector: `spec.nodeName=${NODE}` });
}

const pems = () => readdirSync(certDir).filter((name) => /^kubelet-client-2.*\.pem$/.test(name));

describeOnControlPlane('the credentials of a node', { with: ['kube-controller-manager'] }, (controlPlane) => {
  beforeEach(() => allowBootstrap(controlPlane));

  test('come from a bootstrap token, and are kept as the kubelet keeps them', async () => {
    const credentials = await open({ bootstrap: bootstrapKubeconfig(controlPlane) });
    await expect(credentials.credentials.current()).rejects.toThrow('there is no client certificate yet');
    await issued(credentials.client, () => credentials.start());
    expect(await userOf(credentials.credentials)).toBe(`O=system:nodes, CN=system:node:${NODE}`);
    await listsItsPods(credentials);
    const current = join(certDir, 'kubelet-client-current.pem');
    const target = readlinkSync(current);
    expect(target).toMatch(/\/kubelet-client-\d{4}(-\d\d){5}\.pem$/);
    expect(statSync(target).mode & 0o777).toBe(0o600);
    expect(readFileSync(current, 'utf8')).toMatch(
      /^-----BEGIN CERTIFICATE-----[^]*-----END CERTIFICATE-----\n-----BEGIN EC PRIVATE KEY-----/,
    );
    expect(statSync(kubeconfig).mode & 0o777).toBe(0o600);
    const nodes = ['--kubeconfig', kubeconfig, 'get', 'csr', '--output=name'];
    await expect(controlPlane.kubectl(...nodes)).resolves.toContain('certificatesigningrequest');
  });

  test('are used again by the next agent, without the bootstrap token', async () => {
    const first = await open({ bootstrap: bootstrapKubeconfig(controlPlane) });
    await issued(first.client, () => first.start());
    first.stop();
    const next = await open({ bootstrap: join(folder, 'is-not-read') });
    await next.start();
    await listsItsPods(next);
    expect(pems()).toHaveLength(1);
  });

  test.each([
    ['ahead of', HOUR_MS],
    ['behind', -HOUR_MS],
  ])('come and are used by a clock that is an hour %s that of the server', async (_, aheadMs) => {
    const first = await open({ bootstrap: bootstrapKubeconfig(controlPlane), aheadMs });
    await issued(first.client, () => first.start());
    await listsItsPods(first);
    first.stop();
    const next = await open({ aheadMs });
    await next.start();
    await listsItsPods(next);
    // Neither asks for another one.
    expect(next.client?.describe()).toMatch(/^Settled/);
    expect(pems()).toHaveLength(1);
  });

  test('are requested once, under one name, if certificates are not rotated', async () => {
    const settings = { bootstrap: bootstrapKubeconfig(controlPlane), rotates: false };
    const before = await open(settings);
    await issued(before.client, () => before.start());
    await listsItsPods(before);
    expect(existsSync(kubeconfig)).toBe(true);
    expect(readdirSync(certDir)).not.toContain('kubelet-client.key.tmp');
    const names = await controlPlane.kubectl('get', 'csr', '--output=name');
    expect(names).toContain('/node-csr-');
    const next = await open({ ...settings, bootstrap: '' });
    expect(next.client).toBeUndefined();
    await listsItsPods(next);
  });

  test('are renewed in time, and the next requests are made with the new certificate', async () => {
    const first = await open({ bootstrap: bootstrapKubeconfig(controlPlane) });
    await issued(first.client, () => first.start());
    const { cert = '' } = await first.credentials.current();
    const { validFrom, validTo } = new X509Certificate(cert);
    const dueAt = Date.parse(validFrom) + 0.75 * (Date.parse(validTo) - Date.parse(validFrom));
    first.stop();
    const late = await open({ aheadMs: dueAt - Date.now() });
    let changes = 0;
    late.credentials.changes.subscribe(() => (changes += 1));
    await issued(late.client, () => late.start());
    expect(changes).toBe(1);
    const renewed = await late.credentials.current();
    expect(renewed.cert).not.toBe(cert);
    await listsItsPods(late);
    const requests = await controlPlane.kubectlJson<{ items: CertificateSigningRequest[] }>('get', 'csr');
    expect(requests.items.filter(({ spec }) => spec.username === `system:node:${NODE}`)).not.toHaveLength(0);
  });

  test('of kubeadm, which are in the kubeconfig, are replaced at once', async () => {
    const { cert, key } = controlPlane.details('admin');
    const base64 = (text = '') => Buffer.from(text).toString('base64');
    writeFileSync(
      kubeconfig,
      JSON.stringify({
        'current-context': 'x',
        contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
        clusters: [
          {
            name: 'x',
            cluster: { server: controlPlane.server, 'certificate-authority': controlPlane.ca.files.cert },
          },
        ],
        users: [
          { name: 'x', user: { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) } },
        ],
      }),
    );
    const credentials = await open();
    expect(credentials.client).toBeDefined();
    await credentials.start();
    // Nothing approves a request of the administrator by itself.
    const name = await pendingRequest(controlPlane);
    await issued(credentials.client, async () => {
      await controlPlane.kubectl('certificate', 'approve', name);
    });
    expect(await userOf(credentials.credentials)).toBe(`O=system:nodes, CN=system:node:${NODE}`);
    await listsItsPods(credentials);
  });

  test('have a serving certificate once the node has an address, and another one when it has another address', async () => {
    const credentials = await open({ bootstrap: bootstrapKubeconfig(controlPlane), serving: true });
    await issued(credentials.client, () => credentials.start());
    const addresses = [{ type: 'Hostname', address: NODE }];
    credentials.setAddresses(addresses);
    expect(credentials.serving?.describe()).toContain('AwaitingAddresses');
    credentials.setAddresses([...addresses, { type: 'InternalIP', address: '10.0.0.7' }]);
    const first = await pendingRequest(controlPlane, SERVING_PURPOSE.signerName);
    await issued(credentials.serving, async () => {
      await controlPlane.kubectl('certificate', 'approve', first);
    });
    const names = () => new X509Certificate(credentials.serving?.current()?.cert ?? '').subjectAltName;
    expect(names()).toBe(`DNS:${NODE}, IP Address:10.0.0.7`);
    expect(readlinkSync(join(certDir, 'kubelet-server-current.pem'))).toMatch(/kubelet-server-\d/);
    credentials.setAddresses([{ type: 'InternalIP', address: '10.0.0.8' }]);
    const second = await pendingRequest(controlPlane, SERVING_PURPOSE.signerName);
    await issued(credentials.serving, async () => {
      await controlPlane.kubectl('certificate', 'approve', second);
    });
    expect(names()).toBe('IP Address:10.0.0.8');
  });
});

/** The name of the request that is not approved yet. */
async function pendingRequest(
  controlPlane: ControlPlane,
  signerName = 'kubernetes.io/kube-apiserver-client-kubelet',
): Promise<string> {
  const clients = openApiClients(
    {
      current: () => Promise.resolve(controlPlane.details('admin')),
      refused: () => undefined,
      changes: NEVER,
    },
    silent,
    { userAgent: 'test' },
  );
  ends.push(() => clients.close());
  const isPending = ({ spec, status }: CertificateSigningRequest) =>
    spec.signerName === signerName && (status?.conditions ?? []).length === 0;
  const list = await clients.main.list<CertificateSigningRequest>({ resource: 'certificatesigningrequests' });
  const found =
    list.items.find(isPending) ??
    (
      await firstValueFrom(
        clients.main
          .watch<CertificateSigningRequest>(
            { resource: 'certificatesigningrequests' },
            { resourceVersion: list.metadata.resourceVersion, timeoutSeconds: 300 },
          )
          .pipe(filter(({ type, object }) => type !== 'BOOKMARK' && isPending(object))),
      )
    ).object;
  return found.metadata?.name ?? '';
}
