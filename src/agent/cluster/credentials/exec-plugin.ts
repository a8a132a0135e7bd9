/** Runs a program that prints credentials (client.authentication.k8s.io). */
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { BoundedOutput } from '../../../system/run-command.ts';
import { errnoCode } from '../../../system/system-errors.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import { type Fields, fieldsOf, flagOf, textOf, textsOf } from './kubeconfig-fields.ts';

const TIMEOUT_MS = 60_000;
const OUTPUT_BYTES_MAX = 1024 ** 2;

/** The cluster in `KUBERNETES_EXEC_INFO`. */
export interface ExecCluster {
  readonly server: string;
  readonly 'tls-server-name'?: string;
  readonly 'insecure-skip-tls-verify'?: boolean;
  readonly 'certificate-authority-data'?: string;
  readonly 'proxy-url'?: string;
  readonly config?: unknown;
}

export interface ExecCredential {
  readonly token?: string;
  readonly clientCertificateData?: string;
  readonly clientKeyData?: string;
  readonly expirationTimestamp?: string;
}

export async function runExecPlugin(entry: ExecEntry, cluster: ExecCluster): Promise<ExecCredential> {
  const { command, apiVersion, provideClusterInfo } = entry;
  const spec = { interactive: false, cluster: provideClusterInfo ? cluster : undefined };
  const info = JSON.stringify({ apiVersion, kind: 'ExecCredential', spec });
  const env = { ...process.env, ...entry.env, KUBERNETES_EXEC_INFO: info };
  try {
    return credentialOf(await outputOf(entry, env), apiVersion);
  } catch (error) {
    const hint = errnoCode(error) === 'ENOENT' ? entry.installHint : undefined;
    const problem = hint === undefined ? errorMessage(error) : `${errorMessage(error)}. ${hint}`;
    throw new StateletError('Unavailable', `${entry.field}.command ${command}: ${problem}`);
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

export interface ExecEntry {
  /** Of the credentials that the program prints. */
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** For people who do not have the program. */
  readonly installHint: string | undefined;
  readonly provideClusterInfo: boolean;
  /** The field, for messages. */
  readonly field: string;
}

const VERSIONS = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];

export function execEntry(user: Fields, folder: string): ExecEntry | undefined {
  if (user.values.exec === undefined || user.values.exec === null) return undefined;
  const exec = fieldsOf(user.values.exec, `${user.where}.exec`);
  const apiVersion = textOf(exec, 'apiVersion');
  if (apiVersion === undefined || !VERSIONS.includes(apiVersion)) {
    throw wrong(exec, 'apiVersion', `must be ${VERSIONS.join(' or ')}`);
  }
  const command = textOf(exec, 'command');
  if (command === undefined) throw wrong(exec, 'command', 'is missing');
  if (textOf(exec, 'interactiveMode') === 'Always') {
    throw wrong(exec, 'interactiveMode', 'must not be Always: nobody can type here');
  }
  return {
    apiVersion,
    command: command.includes('/') ? resolve(folder, command) : command,
    args: textsOf(exec, 'args'),
    env: envOf(exec),
    installHint: textOf(exec, 'installHint'),
    provideClusterInfo: flagOf(exec, 'provideClusterInfo') ?? false,
    field: exec.where,
  };
}

function envOf(exec: Fields): Record<string, string> {
  const entries: unknown = exec.values.env ?? [];
  if (!Array.isArray(entries)) throw wrong(exec, 'env', 'must be a list');
  return Object.fromEntries(
    entries.map((entry: unknown, index) => {
      const variable = fieldsOf(entry, `${exec.where}.env[${index}]`);
      const name = textOf(variable, 'name');
      if (name === undefined) throw wrong(variable, 'name', 'is missing');
      return [name, textOf(variable, 'value') ?? ''];
    }),
  );
}

function wrong({ where }: Fields, key: string, problem: string): StateletError {
  return new StateletError('InvalidArgument', `${where}.${key} ${problem}`);
}
