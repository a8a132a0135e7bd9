/**
 * A node whose API server is one of its own static pods: the agent starts it, asks it for certificates, and then joins the cluster. It runs on
 * the double, or on the real programs with CONTROL_PLANE=real.
 */
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Node, Pod } from '../../../src/types/kubernetes.ts';
import { signRequest } from '../../support/api-server/sign-request.ts';
import { ControlPlane, createPlaces } from '../../support/control-plane/control-plane.ts';
import { allowBootstrap, writeBootstrapKubeconfig } from '../../support/control-plane/node-bootstrap.ts';
import { installKubectl } from '../../support/containerd/packages.ts';
import { whySkipped } from '../../support/control-plane.ts';
import { type Daemon, DaemonBed, NODE_NAME } from '../../support/daemon.ts';
import { controlPlaneKind, kubectlProgram } from '../../support/kubernetes-programs.ts';
import { launcherOf, makeKubeletLink } from '../../support/kubelet-link.ts';
import { waitFor } from '../../support/wait-for.ts';

interface SigningRequest {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly signerName: string };
  readonly status?: { readonly conditions?: unknown };
}

const HOUR_MS = 3_600_000;

const reason = whySkipped();
if (reason !== undefined)
  process.stderr.write(
    `\nSKIPPED, NOTHING PROVED: "a node that starts its own API server" needs a control plane, and ${reason}.\n`,
  );

(reason === undefined ? describe : describe.skip)('a node that starts its own API server', () => {
  let folder: string;
  let bed: DaemonBed;
  let controlPlane: ControlPlane;
  let daemon: Daemon;
  let flags: readonly string[];

  beforeAll(async () => {
    if (!existsSync(kubectlProgram())) await installKubectl();
    folder = mkdtempSync(join(tmpdir(), 'statelet-own-server-'));
    bed = new DaemonBed(launcherOf(makeKubeletLink(folder)));
    controlPlane = new ControlPlane(await createPlaces(), {
      programs: controlPlaneKind(),
      nodeName: NODE_NAME,
      with: ['kube-controller-manager'],
    });
    await controlPlane.prepare();
    for (const { name, commandLine } of controlPlane.components) writeManifest(name, commandLine);
    flags = flagsOfKubeadm();
    daemon = bed.launch(flags);
  });
  afterAll(async () => {
    // The API server goes last: it is a pod of this agent.
    await bed.cleanUp();
    await controlPlane.stop();
    rmSync(folder, { recursive: true });
  });

  function writeManifest(name: string, command: readonly string[]): void {
    const env = [
      { name: 'PATH', value: process.env.PATH ?? '' },
      { name: 'HOME', value: controlPlane.dir },
    ];
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: 'kube-system' },
      spec: {
        hostNetwork: true,
        priorityClassName: 'system-node-critical',
        terminationGracePeriodSeconds: 5,
        containers: [{ name, image: basename(command[0] ?? ''), command, env }],
      },
    };
    writeFileSync(join(bed.manifestDir, `${name}.json`), JSON.stringify(pod));
  }

  /** As kubeadm has them; the folders are the test's own. */
  function flagsOfKubeadm(): readonly string[] {
    const config = join(bed.dir, 'config.yaml');
    const fields = {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      authentication: { x509: { clientCAFile: controlPlane.ca.files.cert } },
      rotateCertificates: true,
      serverTLSBootstrap: true,
      staticPodPath: bed.manifestDir,
      address: controlPlane.nodeIp,
    };
    writeFileSync(config, JSON.stringify(fields));
    const bootstrap = writeBootstrapKubeconfig(join(bed.dir, 'bootstrap-kubelet.conf'), controlPlane);
    return [
      ...[`--bootstrap-kubeconfig=${bootstrap}`, `--kubeconfig=${join(bed.dir, 'kubelet.conf')}`],
      ...[`--config=${config}`, '--container-runtime-endpoint=embedded', `--node-ip=${controlPlane.nodeIp}`],
      ...['--logging-format=json', '--exit-with-pods'],
    ];
  }

  const servingFile = () => join(bed.rootDir, 'pki', 'kubelet-server-current.pem');
  const certificate = () => join(bed.rootDir, 'pki', 'kubelet-client-current.pem');
  const mirrorOf = (name: string) =>
    controlPlane.read<Pod>(`/api/v1/namespaces/kube-system/pods/${name}-${NODE_NAME}`);
  const node = () => controlPlane.read<Node>(`/api/v1/nodes/${NODE_NAME}`);

  test('runs the static pods while no API server answers', async () => {
    await waitFor(() => controlPlane.isReady(), { what: 'the API server of the static pods to answer' });
    expect(existsSync(certificate())).toBe(false);
  });

  test('gets its client certificate from that server, as soon as its token is valid', async () => {
    await allowBootstrap(controlPlane);
    await waitFor(() => existsSync(certificate()), { what: 'the client certificate' });
    const { subject } = new X509Certificate(readFileSync(certificate()));
    expect(subject).toBe(`O=system:nodes\nCN=system:node:${NODE_NAME}`);
  });

  test('registers itself, and the static pods have their mirror pods', async () => {
    const isReady = async () =>
      (await node())?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
    await waitFor(isReady, { what: 'the node to be ready', pauseMs: 100 });
    for (const { name } of controlPlane.components) {
      const isMirrored = async () => {
        const mirror = await mirrorOf(name);
        return mirror?.status?.phase === 'Running' && mirror;
      };
      const { metadata } = await waitFor(isMirrored, { what: `the mirror pod of ${name}`, pauseMs: 100 });
      expect(metadata.annotations).toHaveProperty(['kubernetes.io/config.mirror']);
      expect(metadata.ownerReferences).toMatchObject([{ kind: 'Node', name: NODE_NAME }]);
    }
  });

  test('serves with a certificate of that server, once its request is approved', async () => {
    await approveServing();
    const subject = async () =>
      (await servingCertificate())?.subject === `O=system:nodes\nCN=system:node:${NODE_NAME}`;
    await waitFor(subject, { what: 'the serving certificate to be in use', pauseMs: 100 });
  });

  test('renews both certificates when most of their time is over', async () => {
    await daemon.end('SIGKILL');
    const former = [age(certificate(), 'client auth'), age(servingFile(), 'server auth')];
    daemon = bed.launch(flags);
    await daemon.ready();
    await waitFor(() => serialOf(certificate()) !== former[0], { what: 'another client certificate' });
    await approveServing();
    const served = async () => {
      const serial = (await servingCertificate())?.serialNumber;
      return serial !== undefined && serial !== former[1] && serial === serialOf(servingFile());
    };
    await waitFor(served, { what: 'another serving certificate to be in use', pauseMs: 100 });
  });

  test('finds server, certificates and pods again after it was killed', async () => {
    const started = (await mirrorOf(controlPlane.apiServer.name))?.status?.containerStatuses?.[0]?.state
      ?.running;
    await daemon.end('SIGKILL');
    daemon = bed.launch(flags);
    await daemon.ready();
    const renewed = async () => {
      const lease = await controlPlane.read<{ spec: { renewTime: string } }>(
        `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${NODE_NAME}`,
      );
      return lease?.spec.renewTime;
    };
    const before = await renewed();
    await waitFor(async () => (await renewed()) !== before, {
      what: 'the lease to be renewed',
      pauseMs: 200,
    });
    const after = (await mirrorOf(controlPlane.apiServer.name))?.status?.containerStatuses?.[0];
    expect(after).toMatchObject({ restartCount: 0, state: { running: started } });
  });

  const serialOf = (file: string) => new X509Certificate(readFileSync(file)).serialNumber;

  /** Replaces a stored certificate by one of the same key of which 95 hours of 100 are over. Returns its serial number. */
  function age(file: string, usage: string): string {
    const subject = `/O=system:nodes/CN=system:node:${NODE_NAME}`;
    const names = `subjectAltName=DNS:${NODE_NAME},IP:${controlPlane.nodeIp}`;
    const args = ['req', '-new', '-key', file, '-subj', subject, '-addext', names];
    const asked = execFileSync('openssl', args, { encoding: 'utf8' });
    const { cert, key } = controlPlane.ca.files;
    const authority = { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
    const usages = ['digital signature', usage];
    const wish = { request: asked, usages, nowMs: Date.now() - 95 * HOUR_MS, seconds: 100 * 3600 };
    const [, own = ''] = /(-----BEGIN EC PRIVATE KEY-----.*)$/su.exec(readFileSync(file, 'utf8')) ?? [];
    writeFileSync(file, signRequest(authority, wish) + own);
    return serialOf(file);
  }

  /** Nothing approves these by itself. */
  async function approveServing(): Promise<void> {
    const waiting = async () => {
      const { items } = await controlPlane.kubectlJson<{ items: readonly SigningRequest[] }>('get', 'csr');
      return items.find(
        ({ spec, status }) =>
          spec.signerName === 'kubernetes.io/kubelet-serving' && status?.conditions === undefined,
      );
    };
    const { metadata } = await waitFor(waiting, {
      what: 'a request for a serving certificate',
      pauseMs: 200,
    });
    await controlPlane.kubectl('certificate', 'approve', metadata.name);
  }

  /** Of the node's own server. */
  function servingCertificate(): Promise<X509Certificate | undefined> {
    const { promise, resolve } = Promise.withResolvers<X509Certificate | undefined>();
    const options = {
      host: controlPlane.nodeIp,
      port: 10_250,
      path: '/healthz',
      rejectUnauthorized: false,
      agent: false,
    };
    request(options, (response) => {
      const { socket } = response.resume() as { socket: unknown };
      resolve((socket as TLSSocket).getPeerX509Certificate());
    })
      .on('error', () => resolve(undefined))
      .end();
    return promise;
  }
});
