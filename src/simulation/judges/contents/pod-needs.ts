/** What a simulated pod needs of ConfigMaps and Secrets, and which contents one of their versions gives it. */
import type { Container, PodSpec } from '../../../types/kubernetes.ts';
import type { ContentReference } from '../../api/pod-references.ts';
import type { Values } from './object-versions.ts';

/** Something that takes its contents from one object. */
export interface ContentNeed {
  readonly object: ContentReference;
  readonly optional: boolean;
  /** Under which names the values of which keys are wanted. Undefined: all keys. */
  readonly items: readonly (readonly [name: string, key: string])[] | undefined;
  /** Before each name. */
  readonly prefix: string;
  /** There is nothing else beside its contents. */
  readonly isAlone: boolean;
}

type Volume = NonNullable<PodSpec['volumes']>[number];
type Source = NonNullable<NonNullable<Volume['projected']>['sources']>[number];
type Items = NonNullable<Source['configMap']>['items'];

const NAMESPACE = 'default';

/** Of a volume: a need for each of its sources. The names are those of files. */
export function needsOfVolume({ configMap, secret, projected }: Volume): readonly ContentNeed[] {
  const ofSecret = secret && { ...secret, name: secret.secretName };
  const alone = needsOfSource({ configMap, secret: ofSecret }).map((need) => ({ ...need, isAlone: true }));
  return [...alone, ...(projected?.sources ?? []).flatMap(needsOfSource)];
}

/** Of the variables of a container. */
export function needsOfVariables({ env = [], envFrom = [] }: Container): readonly ContentNeed[] {
  const whole = envFrom.flatMap(({ prefix = '', configMapRef, secretRef }) => [
    ...needs('configmaps', configMapRef, { prefix }),
    ...needs('secrets', secretRef, { prefix }),
  ]);
  const single = env.flatMap(({ name, valueFrom: { configMapKeyRef: one, secretKeyRef: other } = {} }) => [
    ...needs('configmaps', one, { items: one && [[name, one.key]] }),
    ...needs('secrets', other, { items: other && [[name, other.key]] }),
  ]);
  return [...whole, ...single];
}

/** Contents by their names. Undefined: something that is required is missing. */
export function contentsBy({ optional, items, prefix }: ContentNeed, values: Values): Values {
  if (values === undefined) return optional ? new Map() : undefined;
  if (items === undefined) return new Map(Array.from(values, ([key, value]) => [`${prefix}${key}`, value]));
  const found = items.flatMap(([name, key]) => {
    const value = values.get(key);
    return value === undefined ? [] : [[name, value] as const];
  });
  return found.length === items.length || optional ? new Map(found) : undefined;
}

/** Whether the need has exactly these contents. */
export function isMetBy(contents: Values, has: ReadonlyMap<string, string>, need: ContentNeed): boolean {
  if (contents === undefined) return false;
  const { items = [], isAlone } = need;
  if (isAlone && items.length === 0 && contents.size !== has.size) return false;
  const holds = [...contents].every(([name, value]) => has.get(name) === value);
  return holds && items.every(([name]) => contents.has(name) || !has.has(name));
}

function needsOfSource({ configMap, secret }: Pick<Source, 'configMap' | 'secret'>): readonly ContentNeed[] {
  return [
    ...needs('configmaps', configMap, { items: namedItems(configMap?.items) }),
    ...needs('secrets', secret, { items: namedItems(secret?.items) }),
  ];
}

const namedItems = (items: Items): ContentNeed['items'] => items?.map(({ key, path }) => [path, key]);

function needs(
  resource: ContentReference['resource'],
  named: { readonly name?: string; readonly optional?: boolean } | undefined,
  { items, prefix = '' }: { readonly items?: ContentNeed['items']; readonly prefix?: string },
): readonly ContentNeed[] {
  if (named === undefined) return [];
  const { name = '', optional = false } = named;
  return [{ object: { resource, namespace: NAMESPACE, name }, optional, items, prefix, isAlone: false }];
}
