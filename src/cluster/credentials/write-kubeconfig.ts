/** Writes the kubeconfig of a node whose certificate the agent keeps itself. */
import { dirname } from 'node:path';
import { stringify } from 'yaml';
import { makeFolder } from '../../system/make-folder.ts';
import { replaceFile } from '../../system/replace-file.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import type { LoadedKubeconfig } from './load-kubeconfig.ts';

/** With the kubelet's names. The server is that of the bootstrap kubeconfig; certificate and key are both in `pemPath`. */
export async function writeKubeconfig(
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
    ...(insecureSkipTLSVerify && { 'insecure-skip-tls-verify': true }),
    ...(proxyURL !== undefined && { 'proxy-url': proxyURL }),
    server,
    ...(tlsServerName !== undefined && { 'tls-server-name': tlsServerName }),
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
