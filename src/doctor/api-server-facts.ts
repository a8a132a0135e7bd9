/** Whether the API server answers, with a certificate that is trusted, what time it has, and the certificates of the node. */
import { X509Certificate } from 'node:crypto';
import { request } from 'node:http';
import { join } from 'node:path';
import { dial, serverUrl } from '../agent/cluster/client/dial.ts';
import { certificatePair } from '../agent/cluster/credentials/certificate-pair.ts';
import {
  type KubeconfigEntry,
  type Material,
  parseKubeconfig,
} from '../agent/cluster/credentials/kubeconfig-entry.ts';
import type { StateletConfig } from '../agent/config/config.ts';
import { securePort } from '../agent/config/load-server-settings.ts';
import type {
  ApiServerFacts,
  CertificateFacts,
  CertificateFileFacts,
} from './policies/certificate-findings.ts';
import type { Reading } from './policies/finding.ts';
import { clockDifferenceMs } from '../agent/policies/node/lease-renewal.ts';
import { systemClock } from '../system/timer.ts';
import { errorMessage } from '../types/errors.ts';
import { reading, textOf } from './reading.ts';

const PATIENCE_MS = 10_000;
const HEAD_BYTES_MAX = 16 * 1024;

/** Without credentials: each answer has the time, also a refusal. */
export async function apiServerFacts({ path, entry, ca }: FoundKubeconfig): Promise<ApiServerFacts> {
  const { server, tlsServerName, insecureSkipTLSVerify, proxyURL } = entry.cluster;
  const details = { server, headers: {}, ca, tlsServerName, insecureSkipTLSVerify, proxyURL };
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const ask = async () => {
    const socket = await dial(details, { protocols: ['http/1.1'], signal, env: process.env });
    try {
      return await timeDifference(socket, serverUrl(server).host, signal);
    } finally {
      socket.destroy();
    }
  };
  return { server, kubeconfig: path, differenceMs: await reading(ask()) };
}

function timeDifference(
  socket: Awaited<ReturnType<typeof dial>>,
  host: string,
  signal: AbortSignal,
): Promise<number> {
  const askedMs = systemClock.now();
  return new Promise((resolve, reject) => {
    request({
      createConnection: () => socket,
      path: '/version',
      headers: { host, connection: 'close' },
      maxHeaderSize: HEAD_BYTES_MAX,
      signal,
    })
      .once('error', reject)
      .once('response', ({ headers: { date } }) => {
        resolve(clockDifferenceMs({ askedMs, gotMs: systemClock.now(), date }));
      })
      .end();
  });
}

interface FoundKubeconfig {
  readonly path: string;
  readonly entry: KubeconfigEntry;
  /** PEM; undefined where it cannot be read, or none is named. */
  readonly ca: string | undefined;
}

export interface CertificateReport {
  readonly certificates: CertificateFacts['certificates'];
  readonly problems: CertificateFacts['problems'];
  /** With which the API server can be asked. */
  readonly kubeconfig: FoundKubeconfig | undefined;
}

const BOOTSTRAP =
  'remove it, so that Statelet asks for another one by --bootstrap-kubeconfig, or put a new one there';

/** The certificates that the configuration and the kubeconfig name, and those that Statelet keeps. */
export async function certificateReport(config: StateletConfig): Promise<CertificateReport> {
  const own = await servingCertificates(config);
  const { kubeconfig, bootstrapKubeconfig } = config.cluster;
  if (kubeconfig === '') return { certificates: own, problems: [], kubeconfig: undefined };
  const text = await textOf(kubeconfig);
  const isMissing = 'problem' in text && text.problem === 'does not exist';
  const path = isMissing && bootstrapKubeconfig !== '' ? bootstrapKubeconfig : kubeconfig;
  const used = path === kubeconfig ? text : await textOf(path);
  if ('problem' in used) {
    return { certificates: own, problems: [{ path, ...used }], kubeconfig: undefined };
  }
  let entry: KubeconfigEntry;
  try {
    entry = parseKubeconfig(used.value, path);
  } catch (error) {
    const problem = `is wrong: ${errorMessage(error)}`;
    return { certificates: own, problems: [{ path, problem, isForbidden: false }], kubeconfig: undefined };
  }
  const ca = await materialText(entry.cluster.ca);
  const certificates = [...own, ...(await ofKubeconfig(entry, path, ca, config))];
  return {
    certificates,
    problems: [],
    kubeconfig: { path, entry, ca: ca && 'value' in ca ? ca.value : undefined },
  };
}

async function ofKubeconfig(
  { cluster, user }: KubeconfigEntry,
  path: string,
  ca: Reading<string> | undefined,
  { cluster: settings }: StateletConfig,
): Promise<readonly CertificateFileFacts[]> {
  const cert = await materialText(user.cert);
  const key = await materialText(user.key);
  const authority = ca &&
    cluster.ca && {
      what: "the API server's authority",
      path: nameOf(cluster.ca, path),
      certificate: timesOf(ca),
      mend: `put the cluster's authority there (its ConfigMap kube-root-ca.crt has it)`,
      renews: false,
    };
  const client = cert &&
    user.cert && {
      what: 'client certificate',
      path: nameOf(user.cert, path),
      certificate: key === undefined ? timesOf(cert) : timesOfPair(cert, key),
      mend: BOOTSTRAP,
      renews: settings.rotateCertificates,
    };
  return [authority, client].filter((one) => one !== undefined);
}

/** Only certificates of others: those that Statelet makes itself it also replaces in time. */
async function servingCertificates(config: StateletConfig): Promise<readonly CertificateFileFacts[]> {
  const { tlsCertFile, tlsPrivateKeyFile, clientCAFile } = config.server;
  if (!config.server.enableServer || securePort(config) === undefined) return [];
  const serving = {
    what: 'serving certificate',
    path: tlsCertFile,
    mend: 'put a new pair there; or leave --tls-cert-file and --tls-private-key-file out, and Statelet makes its own',
    renews: false,
  };
  const authority = {
    what: 'authority of clients',
    path: clientCAFile,
    mend: "put the cluster's authority there (kubeadm: /etc/kubernetes/pki/ca.crt)",
    renews: false,
  };
  return [
    ...(tlsCertFile === ''
      ? []
      : [
          {
            ...serving,
            certificate: timesOfPair(await textOf(tlsCertFile), await textOf(tlsPrivateKeyFile)),
          },
        ]),
    ...(clientCAFile === '' ? [] : [{ ...authority, certificate: timesOf(await textOf(clientCAFile)) }]),
  ];
}

type Times = CertificateFileFacts['certificate'];

function timesOf(text: Reading<string>): Times {
  if ('problem' in text) return text;
  try {
    const { validFrom, validTo } = new X509Certificate(text.value);
    return { value: { notBefore: Date.parse(validFrom), notAfter: Date.parse(validTo) } };
  } catch {
    return { problem: 'holds no certificate in PEM', isForbidden: false };
  }
}

function timesOfPair(cert: Reading<string>, key: Reading<string>): Times {
  if ('problem' in cert) return cert;
  if ('problem' in key) return { ...key, problem: `has a key that ${key.problem}` };
  try {
    const { notBefore, notAfter } = certificatePair(cert.value, key.value).facts;
    return { value: { notBefore, notAfter } };
  } catch (error) {
    return { problem: errorMessage(error), isForbidden: false };
  }
}

function materialText(material: Material | undefined): Promise<Reading<string> | undefined> {
  if (material?.file !== undefined) return textOf(material.file);
  const text = material?.data && Buffer.from(material.data, 'base64').toString('utf8');
  return Promise.resolve(text === undefined ? undefined : { value: text });
}

function nameOf({ file, field }: Material, kubeconfig: string): string {
  return file ?? join(kubeconfig, field).replace(`${kubeconfig}/`, `${kubeconfig}: `);
}
