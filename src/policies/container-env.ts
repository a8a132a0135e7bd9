/** What a container's process gets: its environment, and its command and arguments with `$(VAR)` filled in. */
import type { KeyValue } from '../types/cri.ts';
import type { Container, EphemeralContainer, Pod } from '../types/kubernetes.ts';
import { StateletError } from '../types/errors.ts';
import type { ResolvedCommand } from './container-config.ts';
import { fieldValue } from './downward-fields.ts';
import type { PodAddresses } from './downward-fields.ts';
import { resourceFieldValue } from './downward-resources.ts';

type AnyContainer = Container | EphemeralContainer;
type EnvVar = NonNullable<Container['env']>[number];
type EnvVarSource = NonNullable<EnvVar['valueFrom']>;
type EnvFromSource = NonNullable<Container['envFrom']>[number];

export interface EnvFacts extends PodAddresses {
  /** What the node can give to pods, by resource: it stands in for limits that a container does not have. */
  readonly allocatable: Readonly<Record<string, string>>;
}

/**
 * The container's environment in the order of its spec; of two entries with one name the later one counts. Throws a
 * StateletError: FailedPrecondition for a reference to an object of the API server, InvalidArgument for a field or
 * resource that does not exist.
 */
export function containerEnv(pod: Pod, container: AnyContainer, facts: EnvFacts): readonly KeyValue[] {
  for (const source of container.envFrom ?? []) refuseEnvFrom(source, container);
  const env = new Map<string, string>();
  for (const entry of container.env ?? []) {
    const value = entryValue(entry, env, pod, container, facts);
    if (value !== undefined) env.set(entry.name, value);
  }
  return Array.from(env, ([key, value]) => ({ key, value }));
}

/**
 * What the container's process gets to run: its environment (throws what `containerEnv` throws), and command and arguments
 * with its variables filled in.
 */
export function resolveCommand(pod: Pod, container: AnyContainer, facts: EnvFacts): ResolvedCommand {
  const envs = containerEnv(pod, container, facts);
  const env = new Map(envs.map(({ key, value }) => [key, value]));
  const filled = (text: string) => expandVariables(text, env);
  return { command: (container.command ?? []).map(filled), args: (container.args ?? []).map(filled), envs };
}

/** `$(NAME)` is replaced where there is a NAME, and left alone where there is none; `$$` stands for one `$`. */
export function expandVariables(text: string, env: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\$(?:\$|\(([^)]*)\))/g, (match, name?: string) => {
    if (name === undefined) return '$';
    return env.get(name) ?? match;
  });
}

/** Undefined for an optional reference to something that is not there. */
function entryValue(
  entry: EnvVar,
  env: ReadonlyMap<string, string>,
  pod: Pod,
  container: AnyContainer,
  facts: EnvFacts,
): string | undefined {
  if (entry.value) return expandVariables(entry.value, env);
  const { fieldRef, resourceFieldRef } = entry.valueFrom ?? {};
  if (fieldRef) return fieldValue(pod, fieldRef.fieldPath, facts);
  if (resourceFieldRef) return resourceFieldValue(pod, container, resourceFieldRef, facts.allocatable);
  if (!entry.valueFrom) return '';
  refuseReference(entry.name, entry.valueFrom, container);
  return undefined;
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
    throw new StateletError('Unimplemented', `${where}: fileKeyRef is not supported; give the value itself`);
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
    `${what} can only be read from an API server, and this node has none; mark it optional or give the values in env`,
  );
}
