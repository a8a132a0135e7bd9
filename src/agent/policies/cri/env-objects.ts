/** Variables of a container from ConfigMaps and Secrets. */
import { StateletError } from '../../../types/errors.ts';
import type { ConfigMap, Container, EphemeralContainer, Pod, Secret } from '../../../types/kubernetes.ts';
import { bytesOf } from '../volumes/object-files.ts';
import { fileSources, podContainers, type Volume } from '../volumes/volume-source.ts';

type EnvFromSource = NonNullable<Container['envFrom']>[number];
type EnvVarSource = NonNullable<NonNullable<Container['env']>[number]['valueFrom']>;
type KeyRef = NonNullable<EnvVarSource['configMapKeyRef']>;

/** The objects that a container's variables refer to, by name. Undefined: there is no such object. */
export interface EnvObjects {
  readonly configMaps: ReadonlyMap<string, ConfigMap | undefined>;
  readonly secrets: ReadonlyMap<string, Secret | undefined>;
}

/** The names of the objects that the container's variables refer to. */
export function envObjectNames({
  env = [],
  envFrom = [],
}: Container | EphemeralContainer): ReferencedObjects {
  const values = env.flatMap(({ value, valueFrom }) => (valueFrom && !value ? [valueFrom] : []));
  const configMaps = [
    ...envFrom.map(({ configMapRef }) => configMapRef),
    ...values.map(({ configMapKeyRef }) => configMapKeyRef),
  ];
  const secrets = [
    ...envFrom.map(({ secretRef }) => secretRef),
    ...values.map(({ secretKeyRef }) => secretKeyRef),
  ];
  return { configMaps: namesOf(configMaps), secrets: namesOf(secrets) };
}

function namesOf(references: readonly ({ readonly name?: string } | undefined)[]): ReadonlySet<string> {
  return new Set(references.flatMap((reference) => (reference ? [reference.name ?? ''] : [])));
}

/**
 * The variables of an `envFrom`, each read when it is asked for. Throws a StateletError of kind NotFound where its object is missing
 * and not optional.
 */
export function* envFromValues(
  { prefix = '', configMapRef, secretRef }: EnvFromSource,
  { configMaps, secrets }: EnvObjects,
): Iterable<readonly [string, string]> {
  const values = configMapRef
    ? configMapValues(configMaps, configMapRef)
    : secretRef && secretValues(secrets, secretRef);
  for (const key of Object.keys(values?.texts ?? {})) yield [`${prefix}${key}`, textOf(values, key)];
}

/**
 * The value of a key of a ConfigMap or a Secret; undefined if it is optional and missing. Throws a StateletError of kind NotFound if
 * it is not optional.
 */
export function keyRefValue(
  { configMapKeyRef, secretKeyRef }: EnvVarSource,
  namespace: string,
  { configMaps, secrets }: EnvObjects,
): string | undefined {
  if (configMapKeyRef) {
    const values = configMapValues(configMaps, configMapKeyRef);
    return values && valueOf(values, configMapKeyRef, `ConfigMap ${namespace}/${configMapKeyRef.name ?? ''}`);
  }
  if (!secretKeyRef) return undefined;
  const values = secretValues(secrets, secretKeyRef);
  return values && valueOf(values, secretKeyRef, `Secret ${namespace}/${secretKeyRef.name ?? ''}`);
}

/** A Secret's texts are encoded: only those that are asked for are decoded, because many variables may come from one Secret. */
interface Values {
  readonly texts: Readonly<Record<string, string>>;
  readonly encoded: boolean;
}

interface ObjectRef {
  readonly name?: string;
  readonly optional?: boolean;
}

function configMapValues(configMaps: EnvObjects['configMaps'], reference: ObjectRef): Values | undefined {
  const object = configMaps.get(reference.name ?? '');
  if (object !== undefined) return { texts: object.data ?? {}, encoded: false };
  requireOptional(reference, 'configmap');
  return undefined;
}

function secretValues(secrets: EnvObjects['secrets'], reference: ObjectRef): Values | undefined {
  const object = secrets.get(reference.name ?? '');
  if (object !== undefined) return { texts: object.data ?? {}, encoded: true };
  requireOptional(reference, 'secret');
  return undefined;
}

function textOf(values: Values | undefined, key: string): string {
  const text = values?.texts[key] ?? '';
  return values?.encoded ? decoded(text) : text;
}

function decoded(base64: string): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytesOf(base64));
}

function requireOptional({ name = '', optional }: ObjectRef, kind: string): void {
  if (optional !== true) throw new StateletError('NotFound', `${kind} "${name}" not found`);
}

function valueOf(values: Values, { key, optional }: KeyRef, where: string): string | undefined {
  if (Object.hasOwn(values.texts, key)) return textOf(values, key);
  if (optional === true) return undefined;
  throw new StateletError('NotFound', `couldn't find key ${key} in ${where}`);
}

/** The names of the ConfigMaps and Secrets that a pod or a container refers to. All are in the pod's namespace. */
export interface ReferencedObjects {
  readonly configMaps: ReadonlySet<string>;
  readonly secrets: ReadonlySet<string>;
}

/**
 * The objects of its volumes, also of those that no container mounts, of the variables of its containers, and its pull secrets. The
 * node authorizer lets the node read these. A reference without a name refers to nothing.
 */
export function referencedObjects({ spec }: Pod): ReferencedObjects {
  const ofEnv = podContainers(spec).map(envObjectNames);
  const sources = (spec.volumes ?? []).filter(hasObjects).flatMap(fileSources);
  const pullSecrets = (spec.imagePullSecrets ?? []).map(({ name }) => name);
  return {
    configMaps: named([
      ...sources.map(({ configMap }) => configMap?.name),
      ...ofEnv.flatMap(({ configMaps }) => [...configMaps]),
    ]),
    secrets: named([
      ...sources.map(({ secret }) => secret?.name),
      ...ofEnv.flatMap(({ secrets }) => [...secrets]),
      ...pullSecrets,
    ]),
  };
}

function hasObjects({ configMap, secret, projected }: Volume): boolean {
  return (configMap ?? secret ?? projected) !== undefined;
}

function named(names: readonly (string | undefined)[]): ReadonlySet<string> {
  return new Set(names.filter((name) => name !== undefined && name !== '') as string[]);
}
