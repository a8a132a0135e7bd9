/**
 * Runs a program that prints credentials (client.authentication.k8s.io). It takes the place of the one in @kubernetes/client-node,
 * which tells the program nothing, waits for ever, keeps no time of expiry, and shows what was printed when it is no JSON.
 */
import { spawn } from 'node:child_process';
import type { RequestOptions } from 'node:https';
import type { KubeConfig, User } from '@kubernetes/client-node';
import { BoundedOutput } from '../../system/bounded-output.ts';
import { errnoCode } from '../../system/system-errors.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import type { ExecEntry } from './exec-entry.ts';

const TIMEOUT_MS = 60_000;
const OUTPUT_BYTES_MAX = 1024 ** 2;
/** How a user is marked for this authenticator: the library would run `exec` itself. */
export const EXEC_PROVIDER = 'exec-plugin';

/** What `KUBERNETES_EXEC_INFO` tells of the cluster. */
export interface ExecCluster {
  readonly server: string;
  readonly 'tls-server-name'?: string;
  readonly 'insecure-skip-tls-verify'?: boolean;
  readonly 'certificate-authority-data'?: string;
  readonly 'proxy-url'?: string;
  readonly config?: unknown;
}

interface ExecCredential {
  readonly token?: string;
  readonly clientCertificateData?: string;
  readonly clientKeyData?: string;
  readonly expirationTimestamp?: string;
}

type Authenticator = Parameters<KubeConfig['addAuthenticator']>[0];

export class ExecPlugin implements Authenticator {
  readonly #entry: ExecEntry;
  readonly #cluster: ExecCluster;
  /** Unix milliseconds; undefined where the program names no time. */
  expiresAtMs: number | undefined;

  constructor(entry: ExecEntry, cluster: ExecCluster) {
    this.#entry = entry;
    this.#cluster = cluster;
  }

  isAuthProvider(user: User): boolean {
    return (user.authProvider as { name?: unknown } | null)?.name === EXEC_PROVIDER;
  }

  async applyAuthentication(_user: User, options: RequestOptions): Promise<void> {
    const { token, clientCertificateData, clientKeyData, expirationTimestamp } = await this.#run();
    if (clientCertificateData !== undefined) options.cert = clientCertificateData;
    if (clientKeyData !== undefined) options.key = clientKeyData;
    if (token !== undefined) options.headers = { Authorization: `Bearer ${token}` };
    const expiresAtMs = Date.parse(expirationTimestamp ?? '');
    this.expiresAtMs = Number.isNaN(expiresAtMs) ? undefined : expiresAtMs;
  }

  async #run(): Promise<ExecCredential> {
    const { command, apiVersion } = this.#entry;
    const spec = { interactive: false, ...(this.#entry.provideClusterInfo && { cluster: this.#cluster }) };
    const info = JSON.stringify({ apiVersion, kind: 'ExecCredential', spec });
    const env = { ...process.env, ...this.#entry.env, KUBERNETES_EXEC_INFO: info };
    try {
      return credentialOf(await outputOf(this.#entry, env), apiVersion);
    } catch (error) {
      const hint = errnoCode(error) === 'ENOENT' ? this.#entry.installHint : undefined;
      const problem = hint === undefined ? errorMessage(error) : `${errorMessage(error)}. ${hint}`;
      throw new StateletError('Unavailable', `${this.#entry.field}.command ${command}: ${problem}`);
    }
  }
}

async function outputOf({ command, args }: ExecEntry, env: NodeJS.ProcessEnv): Promise<string> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const child = spawn(command, args, {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
    killSignal: 'SIGKILL',
  });
  const output = new BoundedOutput(OUTPUT_BYTES_MAX);
  const complaint = new BoundedOutput();
  child.stdout.on('data', (chunk: Buffer) => output.add(chunk));
  child.stderr.on('data', (chunk: Buffer) => complaint.add(chunk));
  const ending = await new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
    child.once('error', reject).once('close', (code, killedBy) => resolve(code ?? killedBy));
  }).catch((error: unknown) => {
    if (signal.aborted) throw new Error(`did not end within ${TIMEOUT_MS / 1000} s`, { cause: error });
    throw error;
  });
  if (ending !== 0)
    throw new Error(`ended with ${ending}: ${complaint.toString().trim() || 'it wrote nothing to stderr'}`);
  return output.toString();
}

function credentialOf(output: string, apiVersion: string): ExecCredential {
  const printed = jsonOf(output);
  if (printed?.kind !== 'ExecCredential') throw new Error('printed no ExecCredential in JSON');
  if (printed.apiVersion !== apiVersion)
    throw new Error(`printed an ExecCredential that is not of ${apiVersion}`);
  const { token, clientCertificateData, clientKeyData } = printed.status ?? {};
  if ((clientCertificateData === undefined) !== (clientKeyData === undefined)) {
    throw new Error('printed only one of clientCertificateData and clientKeyData');
  }
  if (token === undefined && clientKeyData === undefined)
    throw new Error('printed neither a token nor a certificate');
  return printed.status ?? {};
}

interface PrintedCredential {
  readonly kind?: unknown;
  readonly apiVersion?: unknown;
  readonly status?: ExecCredential;
}

/** The error of JSON.parse shows a part of its text, which is a secret here. */
function jsonOf(text: string): PrintedCredential | undefined {
  try {
    return JSON.parse(text) as PrintedCredential;
  } catch {
    return undefined;
  }
}
