/** The rules of the API server's validation for ConfigMaps, Secrets and PersistentVolumeClaims. No message repeats a value of theirs. */
import { didYouMean } from '../../policies/formats/did-you-mean.ts';
import { compareQuantity, parseQuantity, ZERO_QUANTITY } from '../../policies/formats/quantity.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { ObjectKind } from '../objects/manifest-object.ts';
import type { ManifestProblem } from '../source.ts';
import { child, fieldPath, isTree, type Place, problemAt, type Tree } from './place.ts';
import { kindOf, shown } from './schema-problems.ts';
import { podProblems } from './validate-pod.ts';

type Problems = Iterable<ManifestProblem>;

const FIELDS: Readonly<Record<ObjectKind, readonly string[]>> = {
  ConfigMap: ['data', 'binaryData', 'immutable'],
  Secret: ['data', 'stringData', 'immutable', 'type'],
  PersistentVolumeClaim: ['spec', 'status'],
};

const RULES: Readonly<Record<ObjectKind, (root: Place) => Problems>> = {
  ConfigMap: configMap,
  Secret: secret,
  PersistentVolumeClaim: claim,
};

/** All problems of a document of that kind. Members that are null must have been left out. */
export function objectProblems(kind: ObjectKind, document: Tree): ManifestProblem[] {
  const root: Place = { path: '', value: document };
  return [
    ...metadata(document),
    ...unknownFields(root, ['apiVersion', 'kind', 'metadata', ...FIELDS[kind]]),
    ...RULES[kind](root),
  ];
}

/** Metadata have the same rules in objects of all kinds, and those of pods are written down already. */
function metadata({ metadata = {} }: Tree): readonly ManifestProblem[] {
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [{ name: 'main' }] } };
  return podProblems(pod, { source: 'local', nodeName: '' });
}

function* unknownFields(place: Place, known: readonly string[]): Problems {
  for (const field of Object.keys(place.value))
    if (!known.includes(field)) yield problemAt(place, field, `unknown field${didYouMean(field, known)}`);
}

function* configMap(root: Place): Problems {
  yield* immutable(root);
  const binary = contents(root, 'binaryData', bytesIn);
  const texts = contents(root, 'data', (text) => Buffer.byteLength(text));
  yield* [...texts.problems, ...binary.problems];
  for (const place of child(root, 'binaryData'))
    for (const key of Object.keys(place.value))
      if (isTree(root.value.data) && Object.hasOwn(root.value.data, key))
        yield problemAt(place, key, 'is a key of data, too: leave one of them out');
  yield* tooLarge(texts.bytes + binary.bytes, 'ConfigMap');
}

/** The keys without which a Secret of that type is of no use. */
const KEYS_OF_TYPE: ReadonlyMap<string, readonly string[]> = new Map([
  ['kubernetes.io/dockercfg', ['.dockercfg']],
  ['kubernetes.io/dockerconfigjson', ['.dockerconfigjson']],
  ['kubernetes.io/ssh-auth', ['ssh-privatekey']],
  ['kubernetes.io/tls', ['tls.crt', 'tls.key']],
]);

function* secret(root: Place): Problems {
  yield* immutable(root);
  const data = contents(root, 'data', bytesIn);
  const texts = contents(root, 'stringData', (text) => Buffer.byteLength(text));
  yield* [...data.problems, ...texts.problems];
  const { type = '' } = root.value;
  if (typeof type !== 'string') yield problemAt(root, 'type', `must be a text (got ${kindOf(type)})`);
  const members = ['data', 'stringData'].flatMap((field) => child(root, field));
  for (const key of KEYS_OF_TYPE.get(String(type)) ?? [])
    if (!members.some(({ value }) => Object.hasOwn(value, key)))
      yield { field: fieldPath(['data', key]), message: `is required in a Secret of type ${String(type)}` };
  yield* tooLarge(data.bytes + texts.bytes, 'Secret');
}

function* immutable(root: Place): Problems {
  const { immutable = false } = root.value;
  if (typeof immutable !== 'boolean')
    yield problemAt(root, 'immutable', `must be true or false (got ${kindOf(immutable)})`);
}

const KEY = /^[-._a-zA-Z0-9]{1,253}$/u;
const KEY_LENGTH_SHOWN_MAX = 60;
/** Of all values together, decoded. */
const CONTENTS_BYTES_MAX = 1024 * 1024;

function tooLarge(bytes: number, kind: string): readonly ManifestProblem[] {
  if (bytes <= CONTENTS_BYTES_MAX) return [];
  const message = `has ${bytes} bytes of values, and a ${kind} may have 1 MiB (${CONTENTS_BYTES_MAX}): split it, or mount a file with hostPath`;
  return [{ message }];
}

/** The values of a field, by their keys. `size`: in bytes, or what is wrong with the value. */
function contents(root: Place, field: string, size: (text: string) => number | string) {
  const problems: ManifestProblem[] = [];
  let bytes = 0;
  const { [field]: values = {} } = root.value;
  if (!isTree(values)) problems.push(problemAt(root, field, `must be an object (got ${kindOf(values)})`));
  for (const place of child(root, field)) {
    for (const [key, value] of Object.entries(place.value)) {
      const problem = (message: string) =>
        problems.push(problemAt(place, key.slice(0, KEY_LENGTH_SHOWN_MAX), message));
      if (!KEY.test(key) || key.startsWith('..') || key === '.')
        problem(
          "the key must have 1 to 253 characters, each a letter, a digit, '-', '_' or '.', and be neither '.' nor begin with '..'",
        );
      const found = typeof value === 'string' ? size(value) : notText(value);
      if (typeof found === 'string') problem(found);
      else bytes += found;
    }
  }
  return { problems, bytes };
}

function notText(value: unknown): string {
  const isScalar = typeof value === 'number' || typeof value === 'boolean';
  return `must be a text (got ${kindOf(value)})${isScalar ? '; put it in quotes' : ''}`;
}

const BASE64 = /^[\d+/A-Za-z]*={0,2}$/u;

/** As Go reads it: with line ends, and with its padding. */
function bytesIn(text: string): number | string {
  const characters = text.replaceAll(/[\r\n]/gu, '');
  if (characters.length % 4 === 0 && BASE64.test(characters)) return Buffer.byteLength(characters, 'base64');
  return 'must be base64; in a Secret, plain text belongs into stringData';
}

const ACCESS_MODES = ['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod'];
/** They would choose between PersistentVolumes, or fill the volume from another one. */
const WITHOUT_EFFECT = ['volumeName', 'selector', 'dataSource', 'dataSourceRef', 'volumeAttributesClassName'];
const CLAIM_FIELDS = ['accessModes', 'resources', 'storageClassName', 'volumeMode', ...WITHOUT_EFFECT];

function* claim(root: Place): Problems {
  const [spec] = child(root, 'spec');
  if (!spec) {
    yield problemAt(root, 'spec', 'is required');
    return;
  }
  yield* unknownFields(spec, CLAIM_FIELDS);
  yield* accessModes(spec);
  yield* storage(spec);
  const { volumeMode = 'Filesystem' } = spec.value;
  if (volumeMode !== 'Filesystem')
    yield problemAt(
      spec,
      'volumeMode',
      `must be Filesystem (got ${shown(volumeMode)}): a claim gets a folder here`,
    );
  for (const field of WITHOUT_EFFECT)
    if (spec.value[field] !== undefined)
      yield problemAt(spec, field, 'is not possible: a claim gets a new folder below the root folder');
}

function* accessModes(spec: Place): Problems {
  const { accessModes } = spec.value;
  if (!Array.isArray(accessModes) || accessModes.length === 0) {
    yield problemAt(spec, 'accessModes', `must be a list of ${ACCESS_MODES.join(', ')}`);
    return;
  }
  for (const [index, mode] of accessModes.entries())
    if (!ACCESS_MODES.includes(mode as string))
      yield {
        field: `spec.accessModes[${index}]`,
        message: `must be one of ${ACCESS_MODES.join(', ')} (got ${shown(mode)})`,
      };
  if (accessModes.length > 1 && accessModes.includes('ReadWriteOncePod'))
    yield problemAt(spec, 'accessModes', 'may not have ReadWriteOncePod beside others');
}

function* storage(spec: Place): Problems {
  const [requests] = child(spec, 'resources').flatMap((resources) => child(resources, 'requests'));
  const storage = requests?.value.storage;
  if (!requests || storage === undefined) {
    yield { field: 'spec.resources.requests.storage', message: 'is required' };
    return;
  }
  const problem = amountProblem(storage);
  if (problem !== undefined) yield problemAt(requests, 'storage', problem);
}

function amountProblem(amount: unknown): string | undefined {
  try {
    const isPositive = compareQuantity(parseQuantity(String(amount)), ZERO_QUANTITY) > 0;
    return isPositive ? undefined : `must be more than 0 (got ${shown(amount)})`;
  } catch (error) {
    return `must be an amount such as 1Gi (got ${shown(amount)}): ${errorMessage(error)}`;
  }
}
