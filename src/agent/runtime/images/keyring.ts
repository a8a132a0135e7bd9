import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  badSecretMessage,
  credentialsText,
  type DockerConfig,
  type DockerConfigFormat,
  matchingCredentials,
  missingSecretsMessage,
  type PullCredentials,
  pullSecretNames,
  readDockerConfig,
  readPullSecret,
  type RegistryCredentials,
} from '../../policies/images/image-credentials.ts';
import { type ImageReference, parseImageReference } from '../../policies/images/image-reference.ts';
import { readProvidedFile } from '../../../system/files/foreign-file.ts';
import { patientCalls } from '../../../system/files/patient-calls.ts';
import { unlessAborted } from '../../../system/promises.ts';
import { errnoCode } from '../../../system/system-errors.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { ApiObjects } from '../../../types/api-objects.ts';
import type { AuthConfig } from '../../../types/cri.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { Pod, Secret } from '../../../types/kubernetes.ts';
import type { Logger } from '../../../types/logger.ts';

/** The node's credentials for registries. */
interface Keyring {
  /** All credentials that match, the most specific first. Empty: the registry is asked anonymously. */
  lookup(image: ImageReference): Promise<readonly AuthConfig[]>;
}

export interface KeyringPlaces {
  readonly rootDir: string;
  readonly homeDir: string;
  /** For tests: the working directory, and the folder of the machine-wide `.docker`. */
  readonly workingDir?: string;
  readonly systemDir?: string;
}

interface ConfigFile {
  readonly path: string;
  readonly format: DockerConfigFormat;
}

/**
 * Credentials from the node's docker configuration file: the first that exists in the places of the kubelet. It is checked before
 * each pull, and read again when it has changed. A file that cannot be used is named in a warning, once for each version of it, and
 * the next place is tried. No message contains any of its content.
 */
export function createKeyring({ logger }: AgentContext, places: KeyringPlaces): Keyring {
  const files = configFiles(places).map((file) => new CachedFile(file, logger));
  return {
    lookup: async (image) => {
      for (const file of files) {
        const config = await file.read();
        if (config === undefined) continue;
        return matchingCredentials(config.credentials, image).map(({ auth }) => auth);
      }
      return [];
    },
  };
}

function configFiles({
  rootDir,
  homeDir,
  workingDir = process.cwd(),
  systemDir = '/',
}: KeyringPlaces): readonly ConfigFile[] {
  const docker = [rootDir, workingDir, join(homeDir, '.docker'), join(systemDir, '.docker')];
  const older = [rootDir, workingDir, homeDir, systemDir];
  const all: ConfigFile[] = [
    ...docker.map((folder) => ({ path: join(folder, 'config.json'), format: 'config.json' as const })),
    ...older.map((folder) => ({ path: join(folder, '.dockercfg'), format: '.dockercfg' as const })),
    ...older.map((folder) => ({ path: join(folder, '.dockerconfigjson'), format: 'config.json' as const })),
  ];
  return [...new Map(all.map((file) => [file.path, file])).values()];
}

class CachedFile {
  readonly #file: ConfigFile;
  readonly #logger: Pick<Logger, 'warn'>;
  #version = '';
  /** The content of that version. */
  #config: Promise<DockerConfig | undefined> = Promise.resolve(undefined);

  constructor(file: ConfigFile, logger: Pick<Logger, 'warn'>) {
    this.#file = file;
    this.#logger = logger;
  }

  async read(): Promise<DockerConfig | undefined> {
    const version = await versionOf(this.#file.path);
    if (version !== this.#version) {
      this.#version = version;
      this.#config = version === '' ? Promise.resolve(undefined) : this.#load();
    }
    return this.#config;
  }

  async #load(): Promise<DockerConfig | undefined> {
    const config = await this.#parse();
    for (const problem of config?.problems ?? []) this.#warn(`${problem}; no pull will use it`);
    return config;
  }

  async #parse(): Promise<DockerConfig | undefined> {
    const { path, format } = this.#file;
    let text: string;
    try {
      text = await readProvidedFile(path);
    } catch (error) {
      this.#warn(`it cannot be read (${errorMessage(error)}); no pull will use it`);
      return undefined;
    }
    try {
      return readDockerConfig(JSON.parse(text), format);
    } catch {
      // The parser's message quotes the file, which contains passwords.
      this.#warn('it is not valid JSON; no pull will use it until that is mended');
      return undefined;
    }
  }

  #warn(problem: string): void {
    this.#logger.warn({ file: this.#file.path }, `Credentials of ${this.#file.path}: ${problem}`);
  }
}

/** Differs when the content differs; empty where there is no file. */
async function versionOf(path: string): Promise<string> {
  try {
    const { mtimeNs, size, ino } = await patientCalls.call(path, () => stat(path, { bigint: true }));
    return `${mtimeNs} ${size} ${ino}`;
  } catch (error) {
    const code = errnoCode(error) ?? '';
    return code === 'ENOENT' || code === 'ENOTDIR' ? '' : code;
  }
}

/** Credentials that depend on the pod. Rejects only with the reason of the signal. */
export interface CredentialProviders {
  credentials(pod: Pod, image: string, signal: AbortSignal): Promise<readonly RegistryCredentials[]>;
}

export interface CredentialSources {
  readonly keyring: Keyring;
  /** Those of the pod's imagePullSecrets, tried before those of the node. */
  readonly pullSecrets?: Pick<PullSecretReader, 'read'>;
  /** Plugins, tried after the credentials of the node. */
  readonly plugins?: CredentialProviders;
}

/**
 * All credentials that a pod has for an image, in the order in which they are tried. `name`: the image with its default tag. Rejects with
 * the reason of the signal.
 */
export async function podCredentials(
  { keyring, pullSecrets, plugins }: CredentialSources,
  pod: Pod,
  name: string,
  signal: AbortSignal,
): Promise<readonly PullCredentials[]> {
  const image = parseImageReference(name);
  const secrets = await pullSecrets?.read(pod, signal);
  const ofNode = await keyring.lookup(image);
  const ofPlugins = await plugins?.credentials(pod, `${image.domain}/${image.path}`, signal);
  return [
    ...matchingCredentials(secrets ?? [], image),
    ...ofNode.map((auth) => ({ auth })),
    ...matchingCredentials(ofPlugins ?? [], image),
  ];
}

/** The kubelet's reason for Secrets that it has not got. */
const REASON = 'FailedToRetrieveImagePullSecret';

/** Reads the Secrets that pods name in `imagePullSecrets`. A missing or malformed one is reported, and the pull goes on. */
export class PullSecretReader {
  readonly #context: AgentContext;
  readonly #objects: Pick<ApiObjects, 'secret'>;

  constructor(context: AgentContext, objects: Pick<ApiObjects, 'secret'>) {
    this.#context = context;
    this.#objects = objects;
  }

  /** The credentials of all Secrets of the pod, in the order of the spec. Rejects only with the reason of the signal. */
  async read(pod: Pod, signal: AbortSignal): Promise<readonly RegistryCredentials[]> {
    const names = pullSecretNames(pod.spec.imagePullSecrets);
    if (names.length === 0) return [];
    const secrets = await Promise.all(names.map((name) => this.#secret(pod, name, signal)));
    const missing = names.filter((_, index) => secrets[index] === undefined);
    if (missing.length > 0) this.#warn(pod, missingSecretsMessage(missing));
    return secrets.flatMap((secret) => (secret ? this.#credentials(pod, secret) : []));
  }

  /** As with the kubelet, a Secret that the server does not give for now is missing for this pull. */
  async #secret({ metadata }: Pod, name: string, signal: AbortSignal): Promise<Secret | undefined> {
    try {
      return await unlessAborted(this.#objects.secret(metadata.namespace, name), signal);
    } catch {
      signal.throwIfAborted();
      return undefined;
    }
  }

  #credentials(pod: Pod, secret: Secret): readonly RegistryCredentials[] {
    const { namespace = '', name = '', uid = '' } = secret.metadata ?? {};
    const { credentials, problems } = readPullSecret(secret);
    if (problems.length > 0) this.#warn(pod, badSecretMessage(name, problems));
    return credentials.map((one) => {
      const credentialHash = createHash('sha256').update(credentialsText(one)).digest('hex');
      return { ...one, source: { secret: { uid, namespace, name, credentialHash } } };
    });
  }

  #warn({ metadata }: Pod, message: string): void {
    this.#context.recorder.event(metadata, 'Warning', REASON, message);
  }
}
