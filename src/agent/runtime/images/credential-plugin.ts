import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { parseDuration } from '../../policies/formats/duration.ts';
import {
  cacheKey,
  cacheKeys,
  type PluginAnswer,
  pluginRequest,
  readPluginAnswer,
  shownStderr,
} from '../../policies/images/credential-provider-answer.ts';
import type {
  CredentialProvider,
  TokenAttributes,
} from '../../policies/images/credential-provider-config.ts';
import { fits, placeOf, type RegistryCredentials } from '../../policies/images/image-credentials.ts';
import { parseImageReference } from '../../policies/images/image-reference.ts';
import type { CredentialSource } from '../../policies/images/pulled-record.ts';
import { unlessAborted } from '../../../system/promises.ts';
import { BoundedOutput } from '../../../system/run-command.ts';
import { withDeadline } from '../../../system/timer.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { ApiObjects } from '../../../types/api-objects.ts';
import { errorKind, errorMessage } from '../../../types/errors.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type { CredentialProviders } from './keyring.ts';

/** As with the kubelet: enough for a plugin that asks its own server twice. */
const LIMIT_MS = 60_000;

export interface PluginSurroundings {
  readonly binDir: string;
  /** Without them, a plugin gets no token. */
  readonly accounts?: Pick<ApiObjects, 'serviceAccount' | 'token'>;
}

/** What a plugin learns of the pod's service account. */
interface Account {
  readonly token: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** Answers are kept for those who have the same key. */
  readonly key: string;
  readonly source: CredentialSource;
}

interface Kept {
  readonly credentials: readonly RegistryCredentials[];
  readonly expiresAt: number;
}

/** A credential provider plugin: a program that is asked for credentials, and whose answers are kept for a while. */
export class CredentialPlugin {
  readonly #context: AgentContext;
  readonly #provider: CredentialProvider;
  readonly #surroundings: PluginSurroundings;
  readonly #places: readonly ReturnType<typeof placeOf>[];
  readonly #answers = new Map<string, Kept>();
  /** Those who ask the same at the same time share a process. */
  readonly #asking = new Map<string, Promise<PluginAnswer>>();
  readonly #closing = new AbortController();
  /** The problem that was logged last. */
  #reported: string | undefined;

  constructor(context: AgentContext, provider: CredentialProvider, surroundings: PluginSurroundings) {
    this.#context = context;
    this.#provider = provider;
    this.#surroundings = surroundings;
    this.#places = provider.matchImages.map(placeOf);
  }

  /** `image`: without tag and digest. Never rejects: without an answer the pull goes on without these credentials. */
  async credentials(pod: Pod, image: string): Promise<readonly RegistryCredentials[]> {
    const reference = parseImageReference(image);
    if (!this.#places.some((place) => fits(place, reference))) return [];
    try {
      const account = await this.#account(pod);
      if (account === 'not to be asked') return [];
      const credentials = this.#kept(image, account) ?? (await this.#ask(image, account));
      this.#reported = undefined;
      return account ? credentials.map((one) => ({ ...one, source: account.source })) : credentials;
    } catch (error) {
      if (!this.#closing.signal.aborted) this.#logOnce(image, errorMessage(error));
      return [];
    }
  }

  /** Plugins that run are killed. */
  close(): void {
    this.#closing.abort();
  }

  /** Undefined: the plugin needs none. */
  async #account(pod: Pod): Promise<Account | 'not to be asked' | undefined> {
    const { tokenAttributes: wish } = this.#provider;
    if (wish === undefined) return undefined;
    const { namespace } = pod.metadata;
    const { serviceAccountName: name = '' } = pod.spec;
    if (name === '') return wish.requireServiceAccount ? 'not to be asked' : undefined;
    const { accounts } = this.#surroundings;
    if (accounts === undefined) throw new Error('there is no API server to ask for a service account');
    const found = await accounts.serviceAccount(namespace, name);
    if (found === undefined) throw new Error(`serviceaccount "${name}" not found in namespace ${namespace}`);
    const annotations = wantedAnnotations(wish, found.metadata?.annotations ?? {});
    if (typeof annotations === 'string') {
      const missing = `service account ${namespace}/${name}: required annotation ${annotations} not found`;
      this.#context.logger.debug({ plugin: this.#provider.name }, missing);
      return 'not to be asked';
    }
    const token = await accounts.token(pod, { audience: wish.serviceAccountTokenAudience });
    const account = { uid: found.metadata?.uid ?? '', namespace, name };
    const perToken = wish.cacheType === 'Token' ? [hashOf(token)] : [];
    const key = JSON.stringify([account, Object.entries(annotations).sort(), ...perToken]);
    return { token, annotations, key, source: { serviceAccount: account } };
  }

  #kept(image: string, account: Account | undefined): readonly RegistryCredentials[] | undefined {
    const now = this.#context.clock.now();
    for (const key of cacheKeys(image, account?.key ?? '')) {
      const kept = this.#answers.get(key);
      if (kept !== undefined && kept.expiresAt >= now) return kept.credentials;
    }
    return undefined;
  }

  async #ask(image: string, account: Account | undefined): Promise<readonly RegistryCredentials[]> {
    const flight = JSON.stringify([image, account && [hashOf(account.token), account.annotations]]);
    let asking = this.#asking.get(flight);
    if (asking === undefined) {
      asking = this.#run(image, account).finally(() => this.#asking.delete(flight));
      this.#asking.set(flight, asking);
    }
    const { cacheKeyType, cacheMs, credentials } = await asking;
    const { cacheType } = this.#provider.tokenAttributes ?? {};
    const isEcho = account !== undefined && credentials.some(({ auth }) => auth.password === account.token);
    if (isEcho && cacheType !== 'Token') {
      throw new Error(
        "credential provider plugin returned the service account token as the password which is not allowed when service account cache type is not set to 'Token'",
      );
    }
    this.#keep(cacheKey(cacheKeyType, image, account?.key ?? ''), credentials, cacheMs);
    return credentials;
  }

  #keep(key: string, credentials: readonly RegistryCredentials[], cacheMs: number | undefined): void {
    const now = this.#context.clock.now();
    const lifeMs = cacheMs ?? parseDuration(this.#provider.defaultCacheDuration) ?? 0;
    for (const [other, { expiresAt }] of this.#answers) if (expiresAt < now) this.#answers.delete(other);
    if (lifeMs > 0) this.#answers.set(key, { credentials, expiresAt: now + lifeMs });
  }

  async #run(image: string, account: Account | undefined): Promise<PluginAnswer> {
    const { name, args = [], env = [], apiVersion } = this.#provider;
    const { clock, measurements } = this.#context;
    const input = pluginRequest(apiVersion, {
      image,
      ...(account && { serviceAccountToken: account.token, serviceAccountAnnotations: account.annotations }),
    });
    const own = Object.fromEntries(env.map((variable) => [variable.name, variable.value]));
    const command = {
      path: join(this.#surroundings.binDir, name),
      args,
      env: { ...process.env, ...own },
      input,
    };
    const execing = 'error execing credential provider plugin';
    const measured = measurements?.images.credentialPlugin(name);
    let end;
    try {
      end = await withDeadline(clock, LIMIT_MS, this.#closing.signal, (limited) =>
        runPlugin(command, limited),
      );
      measured?.(end.failure === undefined ? 'success' : 'failure');
    } catch (error) {
      measured?.('failure');
      const isLate = errorKind(error) === 'DeadlineExceeded';
      const what = isLate ? 'it has not ended within 1m0s, and was killed' : errorMessage(error);
      throw new Error(`${execing}: ${what}`, { cause: error });
    }
    const { failure, stdout, stderr } = end;
    if (failure !== undefined) {
      throw new Error(`${execing}: ${failure}: ${shownStderr(stderr, account?.token)}`);
    }
    const answer = readPluginAnswer(stdout, apiVersion);
    if (typeof answer === 'string') throw new Error(answer);
    return answer;
  }

  /** Logs each problem once: a pull that fails is tried again and again. */
  #logOnce(image: string, problem: string): void {
    if (this.#reported === problem) return;
    this.#reported = problem;
    const { name } = this.#provider;
    const effect = 'images are pulled without its credentials';
    this.#context.logger.warn(
      { plugin: name, image },
      `Failed getting credential from external registry credential provider ${name}: ${problem}; ${effect}`,
    );
  }
}

/** The annotations that the plugin gets, or the name of a required one that is missing. */
function wantedAnnotations(
  {
    requiredServiceAccountAnnotationKeys: required = [],
    optionalServiceAccountAnnotationKeys: optional = [],
  }: TokenAttributes,
  given: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> | string {
  const missing = required.find((key) => given[key] === undefined);
  if (missing !== undefined) return missing;
  const wanted = [...required, ...optional].flatMap((key) => {
    const value = given[key];
    return value === undefined ? [] : [[key, value] as const];
  });
  return Object.fromEntries(wanted);
}

function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** An answer holds some credentials. What is longer is none. */
const ANSWER_BYTES_MAX = 1024 * 1024;

export interface PluginCommand {
  readonly path: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** For its stdin. */
  readonly input: string;
}

export interface PluginEnd {
  readonly stdout: string;
  readonly stderr: string;
  /** Undefined: it ended well. */
  readonly failure: string | undefined;
}

/**
 * Runs a plugin to its end. When the signal aborts, the plugin is killed with all that it has started in its process group, and this
 * rejects with the signal's reason. Rejects with the system's error where it cannot be started.
 */
async function runPlugin(command: PluginCommand, signal: AbortSignal): Promise<PluginEnd> {
  signal.throwIfAborted();
  const { path, args, env, input } = command;
  const child = spawn(path, args, { env, stdio: ['pipe', 'pipe', 'pipe'], detached: true });
  const stdout = new BoundedOutput(ANSWER_BYTES_MAX);
  const stderr = new BoundedOutput();
  child.stdout.on('data', (chunk: Buffer) => stdout.add(chunk));
  child.stderr.on('data', (chunk: Buffer) => stderr.add(chunk));
  // A plugin may end without reading its input.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const abort = Promise.withResolvers<never>();
  const onAbort = () => {
    kill(child);
    abort.reject(signal.reason);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const failure = await Promise.race([endOf(child), abort.promise]);
    const tooLong = stdout.isFull ? 'its answer is longer than 1 MiB' : undefined;
    return { stdout: stdout.toString(), stderr: stderr.toString(), failure: failure ?? tooLong };
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function endOf(child: ChildProcess): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve(undefined);
      else resolve(code === null ? `signal: ${signal}` : `exit status ${code}`);
    });
  });
}

function kill(child: ChildProcess): void {
  // A process that has left the group may hold the pipes open.
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

export class CredentialPlugins implements CredentialProviders {
  readonly #plugins: readonly CredentialPlugin[];

  constructor(
    context: AgentContext,
    providers: readonly CredentialProvider[],
    surroundings: PluginSurroundings,
  ) {
    this.#plugins = providers.map((provider) => new CredentialPlugin(context, provider, surroundings));
  }

  /** In the order of the configuration. All plugins that know the image are asked at the same time. */
  async credentials(pod: Pod, image: string, signal: AbortSignal): Promise<readonly RegistryCredentials[]> {
    const answers = Promise.all(this.#plugins.map((plugin) => plugin.credentials(pod, image)));
    return (await unlessAborted(answers, signal)).flat();
  }

  close(): void {
    for (const plugin of this.#plugins) plugin.close();
  }
}
