/** A container's environment, and its command and arguments with `$(VAR)` replaced. */
import type { KnownServices } from '../../../types/api-objects.ts';
import type { KeyValue } from '../../../types/cri.ts';
import type { Container, EphemeralContainer, Pod } from '../../../types/kubernetes.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import type { ResolvedCommand } from './container-config.ts';
import { ExecSize, expandVariables, shownName } from './exec-size.ts';
import { fieldValue, type PodAddresses, resourceFieldValue } from '../volumes/downward-fields.ts';
import { EnvFileReader, serviceVariables } from './env-sources.ts';
import { envFromValues, type EnvObjects, keyRefValue } from './env-objects.ts';

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
 * come last, where their names are not used. Throws a StateletError: NotFound for objects and keys that do not exist,
 * FailedPrecondition for a reference to an object where there is no API server and while services are not known, InvalidArgument
 * for a field or resource that does not exist and for more than Linux takes, which `size` counts.
 */
export function containerEnv(
  pod: Pod,
  container: AnyContainer,
  facts: EnvFacts,
  size = new ExecSize(container),
): readonly KeyValue[] {
  const ofServices = facts.services ? serviceVariables(pod, facts.services) : NO_VARIABLES;
  const env = new Map<string, string>();
  const set = (name: string, value: string | undefined) => env.set(name, size.variable(name, value));
  const missing = new MissingReferences();
  for (const source of container.envFrom ?? []) {
    const { objects } = facts;
    if (!objects) refuseEnvFrom(source, container);
    else
      missing.reading(() => {
        for (const [name, value] of envFromValues(source, objects)) set(name, value);
      });
  }
  const known = { get: (name: string) => env.get(name) ?? ofServices.get(name) };
  const referred = referredValues(pod, container, facts);
  for (const entry of container.env ?? []) {
    if (entry.value) set(entry.name, expandVariables(entry.value, known));
    else
      missing.reading(() => {
        const value = referred(entry);
        if (value !== undefined) set(entry.name, value);
      });
  }
  missing.refuse();
  for (const [name, value] of ofServices) if (!env.has(name)) set(name, value);
  return Array.from(env, ([key, value]) => ({ key, value }));
}

/** At most so many are named: a message in a status stays short. */
const MISSING_MAX = 10;

/** Missing objects to which the variables refer. The kubelet names the first alone; people who must make them want to know all. */
class MissingReferences {
  readonly #problems = new Set<string>();

  /** After a missing object, only further missing objects count: the first problem is the one that the kubelet reports. */
  reading(read: () => void): void {
    try {
      read();
    } catch (error) {
      const isMissing = error instanceof StateletError && error.kind === 'NotFound';
      if (isMissing && this.#problems.size < MISSING_MAX) this.#problems.add(error.message);
      if (this.#problems.size === 0) throw error;
    }
  }

  refuse(): void {
    if (this.#problems.size > 0) throw new StateletError('NotFound', [...this.#problems].join('; '));
  }
}

/**
 * The container's environment, and its command and arguments with its variables replaced. Throws what `containerEnv`
 * throws, and InvalidArgument for a value that no variable can have.
 */
export function resolveCommand(pod: Pod, container: AnyContainer, facts: EnvFacts): ResolvedCommand {
  const size = new ExecSize(container);
  const envs = containerEnv(pod, container, facts, size);
  refuseNUL(envs);
  const env = new Map(envs.map(({ key, value }) => [key, value]));
  const expanded = (field: 'command' | 'args') =>
    (container[field] ?? []).map((text, index) =>
      size.word(`${field}[${index}]`, expandVariables(text, env)),
    );
  return { command: expanded('command'), args: expanded('args'), envs };
}

/** The runtime would refuse it too, with an error that shows the value. */
function refuseNUL(envs: readonly KeyValue[]): void {
  const found = envs.find(({ value }) => value.includes('\0'));
  if (found === undefined) return;
  const problem = `environment variable ${shownName(found.key)} has a NUL character in its value`;
  throw new StateletError('InvalidArgument', `${problem}; mount it as a file of a volume`);
}

/** Gives the values of entries that refer to them; undefined for an optional reference to something that does not exist. */
function referredValues(
  pod: Pod,
  container: AnyContainer,
  facts: EnvFacts,
): (entry: EnvVar) => string | undefined {
  const fileValue = fileValues(facts.envFiles ?? new Map());
  return ({ name, valueFrom }) => {
    if (!valueFrom) return '';
    const { fieldRef, resourceFieldRef, fileKeyRef } = valueFrom;
    if (fieldRef) return fieldRefValue(pod, fieldRef, facts);
    if (resourceFieldRef) return resourceFieldValue(pod, container, resourceFieldRef, facts.allocatable);
    if (fileKeyRef && facts.envFiles) return fileValue(fileKeyRef);
    if (facts.objects && !fileKeyRef) return keyRefValue(valueFrom, pod.metadata.namespace, facts.objects);
    refuseReference(name, valueFrom, container);
    return undefined;
  };
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

/** Reads each file once, however many variables come from it. */
function fileValues(files: ReadonlyMap<string, EnvFile>): (ref: FileKeyRef) => string | undefined {
  const readers = new Map<string, EnvFileReader>();
  return (ref) => {
    const key = envFileKey(ref);
    const file = files.get(key);
    if (file === undefined) throw new StateletError('Internal', `${key} has not been read`);
    if ('problem' in file) throw file.problem;
    const reader = readers.get(key) ?? new EnvFileReader(file.text);
    readers.set(key, reader);
    return fileKeyValue(ref, file.path, reader);
  };
}

/** As with the kubelet, `optional` concerns only the key: the file must exist. An empty value counts as a missing key. */
function fileKeyValue(ref: FileKeyRef, path: string, reader: EnvFileReader): string | undefined {
  const value = parsedValue(reader, ref);
  if (value !== undefined || ref.optional === true) return value;
  throw new StateletError('NotFound', `environment variable key "${ref.key}" not found in file "${path}"`);
}

function parsedValue(reader: EnvFileReader, { key, volumeName, path }: FileKeyRef): string | undefined {
  try {
    return reader.value(key);
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
      `${where}: fileKeyRef needs volumes, which this runtime does not have; give the value itself`,
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
