/** ClusterTrustBundles of a real API server, which has them only with their feature gates. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { TrustBundleSelection } from '../../../src/types/kubernetes.ts';
import { describeOnCluster } from '../../support/cluster-suite.ts';
import { CertificateAuthority } from '../../support/control-plane/certificates.ts';
import { KUBECTL_PATIENCE, waitFor } from '../../support/wait-for.ts';

const GATES = 'ClusterTrustBundle=true,ClusterTrustBundleProjection=true';
const FLAGS = [
  `--feature-gates=${GATES}`,
  '--runtime-config=certificates.k8s.io/v1beta1/clustertrustbundles=true',
];

describeOnCluster('trust bundles', { controlPlane: { apiServerFlags: FLAGS } }, (cluster) => {
  let dir: string;
  let first: string;
  let second: string;

  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'statelet-ca-'));
    first = readFileSync(cluster.controlPlane.ca.files.cert, 'utf8');
    second = readFileSync(new CertificateAuthority(dir).create().files.cert, 'utf8');
  });
  afterEach(() => cluster.clear());
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  const bundle = (name: string, trustBundle: string, signerName?: string): object => ({
    apiVersion: 'certificates.k8s.io/v1beta1',
    kind: 'ClusterTrustBundle',
    metadata: { name, labels: { of: 'test' } },
    spec: { trustBundle, ...(signerName !== undefined && { signerName }) },
  });
  const create = (name: string, selection: Omit<TrustBundleSelection, 'path'>) =>
    cluster.create(name, {
      volumes: [
        {
          name: 'data',
          projected: { sources: [{ clusterTrustBundle: { path: 'ca.pem', ...selection } }] },
        },
      ],
      containers: [cluster.server({ volumeMounts: [{ name: 'data', mountPath: '/data' }] })],
    });
  const fileOf = async (name: string) => {
    const pod = await cluster.podIsReady(name);
    return () => cluster.bed.exec(pod, ['cat', '/data/ca.pem']);
  };
  const bodies = (...pems: string[]) => pems.map((pem) => pem.trim()).sort();
  const certificates = (text: string) =>
    [...text.matchAll(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/gu)]
      .map(([pem]) => pem)
      .sort();

  test('by name, and a change reaches the file', async () => {
    await cluster.controlPlane.apply(bundle('plain', first));
    await create('named', { name: 'plain' });
    const read = await fileOf('named');
    expect(await read()).toBe(`${first.trim()}\n`);
    await cluster.controlPlane.apply(bundle('plain', first + second));
    const follows = async () => certificates(await read()).length === 2;
    await waitFor(follows, { what: 'the second certificate to be in the file' });
    expect(certificates(await read())).toEqual(bodies(first, second));
  });

  test('by signer and labels, each certificate once; a pod waits for a bundle that is missing, and starts when it appears', async () => {
    const signerName = 'example.com/signer';
    const labelSelector = { matchLabels: { of: 'test' } };
    await create('selecting', { signerName, labelSelector });
    await create('optional', { name: 'none', optional: true });
    await create('waiting', { name: 'none' });
    expect(await (await fileOf('optional'))()).toBe('');
    const failed = 'MountVolume.SetUp failed for volume "data" :';
    await cluster.told(
      'selecting',
      `${failed} combination of signerName and labelSelector matched zero ClusterTrustBundles`,
      'reason=FailedMount',
    );
    await cluster.told(
      'waiting',
      `${failed} while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "none" not found`,
      'reason=FailedMount',
    );
    const ofSigner = [
      bundle('example.com:signer:a', first, signerName),
      bundle('example.com:signer:b', first + second, signerName),
    ];
    await cluster.controlPlane.apply(...ofSigner);
    const read = await fileOf('selecting');
    await waitFor(async () => certificates(await read()).length === 2, { what: 'both bundles' });
    await cluster.controlPlane.kubectl('delete', 'pod', 'waiting', KUBECTL_PATIENCE);
  });
});
