/** What a command line names after `get`, `describe` and `delete`: a type and names, as `pods web db`, or `pod/web pod/db`. */
import { didYouMean } from '../../agent/policies/formats/did-you-mean.ts';
import { invalid, StateletError } from '../../types/errors.ts';

/** The names of a type, as kubectl takes them, the usual one first. */
const TYPES = {
  pods: ['pods', 'pod', 'po'],
  configmaps: ['configmaps', 'configmap', 'cm'],
  secrets: ['secrets', 'secret'],
  persistentvolumeclaims: ['persistentvolumeclaims', 'persistentvolumeclaim', 'pvc'],
  nodes: ['nodes', 'node', 'no'],
} as const;
export type ObjectType = keyof typeof TYPES;

export const OBJECT_TYPES: readonly string[] = Object.keys(TYPES);
const TYPE_WORDS: readonly string[] = Object.values(TYPES).flat();

const KINDS: Readonly<Record<ObjectType, string>> = {
  pods: 'Pod',
  configmaps: 'ConfigMap',
  secrets: 'Secret',
  persistentvolumeclaims: 'PersistentVolumeClaim',
  nodes: 'Node',
};

export function kindOf(type: ObjectType): string {
  return KINDS[type];
}

/** Objects of a cluster that start pods or lead to them: a node has only the pods. */
const OF_CLUSTERS: readonly string[] = [
  ...[
    'deployments',
    'deployment',
    'deploy',
    'replicasets',
    'replicaset',
    'rs',
    'statefulsets',
    'statefulset',
    'sts',
  ],
  ...[
    'daemonsets',
    'daemonset',
    'ds',
    'jobs',
    'job',
    'cronjobs',
    'cronjob',
    'cj',
    'services',
    'service',
    'svc',
  ],
];

/** The end of a sentence about a word that is the type of such an object, and `undefined` for any other. */
export function clusterTypeHint(word: string): string | undefined {
  return OF_CLUSTERS.includes(word.toLowerCase())
    ? 'a node has only pods: name one, or choose them by their labels with -l'
    : undefined;
}

export interface NamedObjects {
  readonly type: ObjectType;
  /** Empty: all of the type. */
  readonly names: readonly string[];
}

/** Throws `NotFound` for a type that is not known, and `InvalidArgument` where several types are named. */
export function namedObjects(words: readonly string[]): NamedObjects {
  const [first = '', ...others] = words;
  if (!first.includes('/')) return { type: typeOf(first), names: checkedNames(others) };
  const objects = words.map(typeAndName);
  const [type, ...more] = new Set(objects.map((object) => object.type));
  if (type === undefined || more.length > 0) throw invalid('objects of one type can be named at a time');
  return { type, names: objects.map(({ name }) => name) };
}

function typeAndName(word: string): { readonly type: ObjectType; readonly name: string } {
  const [type = '', name = '', ...more] = word.split('/');
  if (name === '' || more.length > 0)
    throw invalid(`"${word}" is not of the form TYPE/NAME, as are the others`);
  return { type: typeOf(type), name };
}

/** `pod` and the like, or the type of `pod/web`. */
export function isTypeWord(word: string): boolean {
  return TYPE_WORDS.includes(word);
}

function checkedNames(words: readonly string[]): readonly string[] {
  const odd = words.find((word) => isTypeWord(word.split('/')[0] ?? '') && word.includes('/'));
  if (odd === undefined) return words;
  throw invalid(`"${odd}" follows a type: give names alone, or each as TYPE/NAME`);
}

/** Throws `NotFound`. */
export function typeOf(word: string): ObjectType {
  const found = Object.entries(TYPES).find(([, words]) => words.some((own) => own === word.toLowerCase()));
  if (found !== undefined) return found[0] as ObjectType;
  if (word.includes(',')) throw invalid(`"${word}": objects of one type can be named at a time`);
  const types = OBJECT_TYPES.join(', ');
  throw new StateletError('NotFound', `a node has no resource type "${word}", but ${types}${mendOf(word)}`);
}

function mendOf(word: string): string {
  const hint = clusterTypeHint(word);
  if (hint !== undefined) return `; ${hint}`;
  if (/^ev(?:ents?)?$/u.test(word)) return '; see statelet events';
  return word === 'all' ? '; see statelet get pods' : didYouMean(word, TYPE_WORDS);
}
