/**
 * Decides with which credentials an agent begins: those of --kubeconfig, or, if they are missing or expired, those of --bootstrap-kubeconfig,
 * with which it asks for a client certificate. The rules are the kubelet's (cmd/kubelet/app, certificate/bootstrap).
 */
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { stringify } from 'yaml';
import { credentialWarnings, isExpired } from '../../policies/cluster/certificates.ts';
import { makeFolder } from '../../../system/make-folder.ts';
import { replaceFile } from '../../../system/replace-file.ts';
import { ifThere } from '../../../system/system-errors.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { ClusterSettings } from '../../../types/node-settings.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import type { Credentials } from '../service/api-server.ts';
import { type CertificatePair, certificatePair } from './certificate-pair.ts';
import { CertificateStore, KeptKey } from './certificate-store.ts';
import { KubeconfigCredentials } from './kubeconfig-credentials.ts';
import type { LoadedKubeconfig } from './load-kubeconfig.ts';

export interface CredentialsOptions extends Pick<AgentContext, 'clock' | 'logger'> {
  readonly settings: Pick<ClusterSettings, 'kubeconfig' | 'bootstrapKubeconfig' | 'rotateCertificates'>;
  /** Where certificates are kept. */
  readonly certDir: string;
  readonly nodeName: string;
}

/** A client certificate that the agent itself asks for and renews. */
export interface ClientCertificate {
  readonly store: CertificateStore;
  readonly rotates: boolean;
  /** With these the first certificate is asked for, and another one when it has expired. */
  readonly first: Credentials;
  readonly pair: CertificatePair | undefined;
  /** The given pair is only for the start: a new certificate is asked for at once. */
  readonly mustRenew: boolean;
  /** Without rotation: the request has a name, and is the same after a start. */
  readonly keptKey: KeptKey | undefined;
  /** Called with each new certificate. */
  readonly onIssued: (pair: CertificatePair) => Promise<void>;
}

export interface OpenedCredentials {
  /** Of the server. Where there is no `client`, also of the node. */
  readonly server: KubeconfigCredentials;
  readonly client: ClientCertificate | undefined;
}

/** Rejects with what is wrong with the files; the message names file and field. */
export async function openCredentials(options: CredentialsOptions): Promise<OpenedCredentials> {
  const { settings } = options;
  const server = new KubeconfigCredentials(options, settings.kubeconfig);
  if (settings.bootstrapKubeconfig !== '') {
    const problem = await problemOf(server, options);
    if (problem !== undefined) return bootstrap(problem, options);
  }
  const kubeconfig = await server.kubeconfig();
  warnOfNoCredentials(server.path, kubeconfig, options);
  warnOfCertificate(server.path, kubeconfig, options);
  if (!settings.rotateCertificates) return { server, client: undefined };
  return { server, client: await rotating(server, kubeconfig, options) };
}

/** Why the bootstrap kubeconfig is needed; undefined where the kubeconfig has a certificate that is valid. */
async function problemOf(
  server: KubeconfigCredentials,
  { clock }: CredentialsOptions,
): Promise<string | undefined> {
  if ((await ifThere(stat(server.path))) === undefined) return 'there is no kubeconfig yet';
  try {
    const { details } = await server.kubeconfig();
    if (details.cert === undefined || details.key === undefined)
      return 'the kubeconfig has no client certificate';
    const { facts } = certificatePair(details.cert, details.key);
    return isExpired(facts, clock.now()) ? 'the client certificate of the kubeconfig has expired' : undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

async function bootstrap(problem: string, options: CredentialsOptions): Promise<OpenedCredentials> {
  const { settings, certDir, logger } = options;
  logger.info({ problem, with: settings.bootstrapKubeconfig }, 'The node asks for a client certificate');
  const first = new KubeconfigCredentials(options, settings.bootstrapKubeconfig);
  const kubeconfig = await first.kubeconfig();
  warnOfNoCredentials(first.path, kubeconfig, options);
  const store = new CertificateStore(certDir, 'kubelet-client');
  const write = () => writeKubeconfig(settings.kubeconfig, kubeconfig, store.currentPath);
  const rotates = settings.rotateCertificates;
  const common = { store, rotates, first, mustRenew: false };
  if (rotates) {
    await write();
    const pair = await storedPair(store, options);
    return {
      server: first,
      client: { ...common, pair, keptKey: undefined, onIssued: () => Promise.resolve() },
    };
  }
  const keptKey = new KeptKey(certDir);
  const onIssued = async () => {
    await write();
    await keptKey.drop();
  };
  return { server: first, client: { ...common, pair: undefined, keptKey, onIssued } };
}

/** A certificate that stands in the kubeconfig itself has more rights than a node's, as kubeadm writes it: it is renewed at once. */
async function rotating(
  server: KubeconfigCredentials,
  { details, certificateOrigin }: LoadedKubeconfig,
  options: CredentialsOptions,
): Promise<ClientCertificate> {
  const { bootstrapKubeconfig } = options.settings;
  const store = new CertificateStore(options.certDir, 'kubelet-client');
  const stored = await storedPair(store, options);
  const given =
    certificateOrigin === undefined ? undefined : certificatePair(details.cert ?? '', details.key ?? '');
  const isInline = stored === undefined && certificateOrigin === 'inline' && given !== undefined;
  if (isInline) await store.update(given.cert, given.key, options.clock.now());
  return {
    store,
    rotates: true,
    // When the certificate has expired, only other credentials can bring a new one.
    first: bootstrapKubeconfig === '' ? server : new KubeconfigCredentials(options, bootstrapKubeconfig),
    pair: stored ?? given,
    mustRenew: isInline,
    keptKey: undefined,
    onIssued: () => Promise.resolve(),
  };
}

/** A file that is not valid is replaced by a new certificate. */
async function storedPair(
  store: CertificateStore,
  { logger }: CredentialsOptions,
): Promise<CertificatePair | undefined> {
  try {
    return await store.current();
  } catch (error) {
    logger.warn({ problem: errorMessage(error) }, 'The stored client certificate is not used');
    return undefined;
  }
}

function warnOfNoCredentials(
  path: string,
  { details: { cert, key, headers } }: LoadedKubeconfig,
  { logger }: CredentialsOptions,
): void {
  if ((cert !== undefined && key !== undefined) || 'Authorization' in headers) return;
  const problem =
    'its user has no credentials, and is system:anonymous to the API server: give it client-certificate and client-key, a token, ' +
    'a tokenFile or exec';
  logger.warn({ kubeconfig: path, problem }, 'The API server may refuse the user of the kubeconfig');
}

function warnOfCertificate(
  path: string,
  { details }: LoadedKubeconfig,
  { nodeName, clock, logger }: CredentialsOptions,
): void {
  if (details.cert === undefined || details.key === undefined) return;
  const { facts } = certificatePair(details.cert, details.key);
  for (const problem of credentialWarnings(facts, nodeName, clock.now())) {
    logger.warn(
      { kubeconfig: path, problem },
      'The API server may refuse the client certificate of the kubeconfig',
    );
  }
}

/**
 * Writes the kubeconfig of a node whose certificate the agent keeps itself, with the kubelet's names. The server is that of the bootstrap
 * kubeconfig; certificate and key are both in `pemPath`.
 */
async function writeKubeconfig(
  path: string,
  { details, caFile }: LoadedKubeconfig,
  pemPath: string,
): Promise<void> {
  const { server, ca, tlsServerName, insecureSkipTLSVerify, proxyURL } = details;
  const authority =
    caFile === undefined
      ? ca !== undefined && { 'certificate-authority-data': Buffer.from(ca).toString('base64') }
      : { 'certificate-authority': caFile };
  const cluster = {
    ...authority,
    'insecure-skip-tls-verify': insecureSkipTLSVerify,
    'proxy-url': proxyURL,
    server,
    'tls-server-name': tlsServerName,
  };
  const config = {
    apiVersion: 'v1',
    clusters: [{ cluster, name: 'default-cluster' }],
    contexts: [
      {
        context: { cluster: 'default-cluster', namespace: 'default', user: 'default-auth' },
        name: 'default-context',
      },
    ],
    'current-context': 'default-context',
    kind: 'Config',
    users: [{ name: 'default-auth', user: { 'client-certificate': pemPath, 'client-key': pemPath } }],
  };
  try {
    await makeFolder(dirname(path));
    await replaceFile(path, stringify(config, { lineWidth: 0, indentSeq: false }), {
      mode: 0o600,
      flush: true,
    });
  } catch (error) {
    const problem = `--kubeconfig ${path} cannot be written: ${errorMessage(error)}`;
    throw new StateletError('FailedPrecondition', problem, { cause: error });
  }
}
