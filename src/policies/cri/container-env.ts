/** A container's environment, and its command and arguments with `$(VAR)` replaced. */
import type { KnownServices } from '../../types/api-objects.ts';
import type { KeyValue } from '../../types/cri.ts';
import type { Container, EphemeralContainer, Pod } from '../../types/kubernetes.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import type { ResolvedCommand } from './container-config.ts';
import { fieldValue } from '../volumes/downward-fields.ts';
import type { PodAddresses } from '../volumes/downward-fields.ts';
import { resourceFieldValue } from '../volumes/downward-resources.ts';
import { envFileValue } from './env-file.ts';
import { envFromValues, type EnvObjects, keyRefValue } from './env-objects.ts';
import { serviceVariables } from './service-variables.ts';

type AnyContainer = Container | EphemeralContainer;
type EnvVar = NonNullable<Container['env']>[number];
type EnvVarSource = NonNullable<EnvVar['valueFrom']>;
type EnvFromSource = NonNullable<Container['envFrom']>[number];

type FieldRef = NonNullable<EnvVarSource['fieldRef']>;

export type FileKeyRef = NonNullable<EnvVarSource['fileKeyRef']>;

/** A file in a volume, or why it cannot be read. */
export type EnvFile = { readonly path: string; readonly text: string } | { readonly problem: StateletError };

const NO_VARIABLES: ReadonlyMap<string, string> = new Map();

export interface EnvFacts extends PodAddresses {
  /** The files that the container's variables refer to, by `envFileKey`. Undefined where the runtime has no volumes. */
  readonly envFiles?: ReadonlyMap<string, EnvFile>;
  /** The ConfigMaps and Secrets that the container's variables refer to. Undefined where there is no API server. */
  readonly objects?: EnvObjects | undefined;
  /** Undefined where there is no API server: no variables are made for services. */
  readonly services?: KnownServices | undefined;
  /** The node's allocatable resources: they stand in for limits that a container does not have. */
  readonly allocatable: Readonly<Record<string, string>>;
}

/**
 * The container's environment in the order of its spec; of two entries with one name the later one counts. Variables for services
 * come last, where their names are not used. Throws a StateletError: NotFound for an object or a key that does not exist,
 * FailedPrecondition for a reference to an object where there is no API server and while services are not known, InvalidArgument
 * for a field or resource that does not exist.
 */
export function containerEnv(pod: Pod, container: AnyContainer, facts: EnvFacts): readonly KeyValue[] {
  const ofServices = facts.services ? serviceVariables(pod, facts.services) : NO_VARIABLES;
  const env = new Map<string, string>();
  for (const source of container.envFrom ?? []) {
    if (!facts.objects) refuseEnvFrom(source, container);
    else for (const [name, value] of envFromValues(source, facts.objects)) env.set(name, value);
  }
  for (const entry of container.env ?? []) {
    const known = { get: (name: string) => env.get(name) ?? ofServices.get(name) };
    const value = entryValue(entry, known, pod, container, facts);
    if (value !== undefined) env.set(entry.name, value);
  }
  for (const [name, value] of ofServices) if (!env.has(name)) env.set(name, value);
  return Array.from(env, ([key, value]) => ({ key, value }));
}

/**
 * The container's environment, and its command and arguments with its variables replaced. Throws what `containerEnv`
 * throws, and InvalidArgument for a value that no variable can have.
 */
export function resolveCommand(pod: Pod, container: AnyContainer, facts: EnvFacts): ResolvedCommand {
  const envs = containerEnv(pod, container, facts);
  refuseNUL(envs);
  const env = new Map(envs.map(({ key, value }) => [key, value]));
  const expanded = (text: string) => expandVariables(text, env);
  return {
    command: (container.command ?? []).map(expanded),
    args: (container.args ?? []).map(expanded),
    envs,
  };
}

/** The runtime would refuse it too, with an error that shows the value. */
function refuseNUL(envs: readonly KeyValue[]): void {
  const found = envs.find(({ value }) => value.includes('\0'));
  if (found === undefined) return;
  const problem = `environment variable ${JSON.stringify(found.key)} has a NUL character in its value`;
  throw new StateletError('InvalidArgument', `${problem}; mount it as a file of a volume`);
}

/** `$(NAME)` is replaced if there is a variable NAME, and kept if there is none; `$$` stands for one `$`. */
export function expandVariables(text: string, env: Variables): string {
  return text.replaceAll(/\$(?:\$|\(([^)]*)\))/g, (match, name?: string) => {
    if (name === undefined) return '$';
    return env.get(name) ?? match;
  });
}

type Variables = Pick<ReadonlyMap<string, string>, 'get'>;

/** Undefined for an optional reference to something that does not exist. */
function entryValue(
  entry: EnvVar,
  env: Variables,
  pod: Pod,
  container: AnyContainer,
  facts: EnvFacts,
): string | undefined {
  if (entry.value) return expandVariables(entry.value, env);
  const { fieldRef, resourceFieldRef, fileKeyRef } = entry.valueFrom ?? {};
  if (fieldRef) return fieldRefValue(pod, fieldRef, facts);
  if (resourceFieldRef) return resourceFieldValue(pod, container, resourceFieldRef, facts.allocatable);
  if (fileKeyRef && facts.envFiles) return fileKeyValue(fileKeyRef, facts.envFiles);
  if (!entry.valueFrom) return '';
  if (facts.objects && !fileKeyRef)
    return keyRefValue(entry.valueFrom, pod.metadata.namespace, facts.objects);
  refuseReference(entry.name, entry.valueFrom, container);
  return undefined;
}

function fieldRefValue(pod: Pod, { apiVersion = 'v1', fieldPath }: FieldRef, facts: EnvFacts): string {
  if (apiVersion === 'v1') return fieldValue(pod, fieldPath, facts);
  throw new StateletError('InvalidArgument', `unsupported pod version: ${apiVersion} (there is: v1)`);
}

/** The files from which the container's environment is read, each once. */
export function envFileRefs({ env = [] }: AnyContainer): readonly FileKeyRef[] {
  const refs = env.flatMap(({ value, valueFrom }) =>
    valueFrom?.fileKeyRef && !value ? [valueFrom.fileKeyRef] : [],
  );
  return [...new Map(refs.map((ref) => [envFileKey(ref), ref])).values()];
}

export function envFileKey({ volumeName, path }: FileKeyRef): string {
  return `${volumeName}/${path}`;
}

/** As with the kubelet, `optional` concerns only the key: the file must exist. An empty value counts as a missing key. */
function fileKeyValue(ref: FileKeyRef, files: ReadonlyMap<string, EnvFile>): string | undefined {
  const file = files.get(envFileKey(ref));
  if (file === undefined) throw new StateletError('Internal', `${envFileKey(ref)} has not been read`);
  if ('problem' in file) throw file.problem;
  const value = parsedValue(file.text, ref);
  if (value !== undefined || ref.optional === true) return value;
  throw new StateletError(
    'NotFound',
    `environment variable key "${ref.key}" not found in file "${file.path}"`,
  );
}

function parsedValue(text: string, { key, volumeName, path }: FileKeyRef): string | undefined {
  try {
    return envFileValue(text, key);
  } catch (error) {
    throw unreadableEnvFile(`${path} of volume ${volumeName}: ${errorMessage(error)}`, error);
  }
}

/** The message begins with the kubelet's words, because people search for them. */
export function unreadableEnvFile(why: string, cause?: unknown): StateletError {
  return new StateletError('InvalidArgument', `couldn't parse env file: ${why}`, { cause });
}

/** Throws unless the reference is optional. */
function refuseReference(name: string, source: EnvVarSource, container: AnyContainer): void {
  const { configMapKeyRef, secretKeyRef, fileKeyRef } = source;
  const where = `env ${name} of container ${container.name}`;
  if (configMapKeyRef) {
    refuse(
      configMapKeyRef,
      `${where}: key ${configMapKeyRef.key} of ConfigMap ${configMapKeyRef.name ?? ''}`,
    );
  } else if (secretKeyRef) {
    refuse(secretKeyRef, `${where}: key ${secretKeyRef.key} of Secret ${secretKeyRef.name ?? ''}`);
  } else if (fileKeyRef) {
    throw new StateletError(
      'Unimplemented',
      `${where}: fileKeyRef takes volumes, and this runtime has none; give the value itself`,
    );
  }
}

function refuseEnvFrom({ configMapRef, secretRef }: EnvFromSource, container: AnyContainer): void {
  const where = `envFrom of container ${container.name}`;
  if (configMapRef) refuse(configMapRef, `${where}: ConfigMap ${configMapRef.name ?? ''}`);
  if (secretRef) refuse(secretRef, `${where}: Secret ${secretRef.name ?? ''}`);
}

function refuse(reference: { readonly optional?: boolean }, what: string): void {
  if (reference.optional === true) return;
  throw new StateletError(
    'FailedPrecondition',
    `${what}: this node cannot read it from an API server; mark it optional or give the values in env`,
  );
}
