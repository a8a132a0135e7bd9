import { describe, expect, test } from '@jest/globals';
import { parse, problemsOf } from '../support.ts';

const configMap = (fields: object, metadata: object = { name: 'app' }) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata,
  ...fields,
});
const secret = (fields: object) => ({ ...configMap(fields), kind: 'Secret' });
const claim = (spec: object) => ({
  ...configMap({ spec: { accessModes: ['ReadWriteOnce'], ...spec } }),
  kind: 'PersistentVolumeClaim',
});
const storage = (amount: unknown) => ({ resources: { requests: { storage: amount } } });
const MIB = 1024 * 1024;
const KEY_RULE =
  "the key must have 1 to 253 characters, each a letter, a digit, '-', '_' or '.', and be neither '.' nor begin with '..'";

describe('is accepted:', () => {
  test.each<[string, object]>([
    ['a ConfigMap without contents', configMap({})],
    ['a ConfigMap of texts and bytes', configMap({ data: { a: '' }, binaryData: { b: 'AAEC' } })],
    ['keys that differ only in case', configMap({ data: { key: '1', KEY: '2' } })],
    ['a value of 1 MiB', configMap({ data: { large: 'x'.repeat(MIB) } })],
    ['base64 with line ends', secret({ data: { a: 'eHh4\neHh4\r\n' } })],
    ['a key in data and in stringData of a Secret', secret({ data: { a: 'eA==' }, stringData: { a: 'y' } })],
    ['names of members of all objects', secret({ type: 'constructor', data: { ['__proto__']: 'eA==' } })],
    ['an immutable Secret with a type', secret({ type: 'example.com/mine', immutable: true })],
    ['a claim', claim({ ...storage('1Gi'), storageClassName: 'fast' })],
    ['a claim for one pod', claim({ ...storage('1'), accessModes: ['ReadWriteOncePod'] })],
  ])('%s', (_what, object) => {
    expect(problemsOf(object, 'local')).toEqual([]);
  });
});

describe('is refused, with the field, and without its value:', () => {
  test.each<[string, object, readonly string[]]>([
    [
      'more than 1 MiB',
      configMap({ data: { a: 'x'.repeat(MIB) }, binaryData: { b: 'AAEC' } }),
      [
        `has ${MIB + 3} bytes of values, and a ConfigMap may have 1 MiB (1048576): split it, or mount a file with hostPath`,
      ],
    ],
    [
      'a number',
      configMap({ data: { port: 8080 } }),
      ['data.port: must be a text (got a number); put it in quotes'],
    ],
    ['an object', configMap({ data: { a: { b: 'c' } } }), ['data.a: must be a text (got an object)']],
    ['data that is a text', configMap({ data: 'x' }), ['data: must be an object (got a text)']],
    ['a key that leads out of the volume', configMap({ data: { '../x': 'y' } }), [`data[../x]: ${KEY_RULE}`]],
    ['the key ..', configMap({ data: { '..': 'y' } }), [`data[..]: ${KEY_RULE}`]],
    [
      'a key of the agent itself',
      secret({ stringData: { '..data': 'y' } }),
      [`stringData[..data]: ${KEY_RULE}`],
    ],
    [
      'a long key',
      configMap({ data: { [`k${'e'.repeat(300)}`]: 'y' } }),
      [`data.k${'e'.repeat(59)}: ${KEY_RULE}`],
    ],
    [
      'a key in data and in binaryData',
      configMap({ data: { a: 'x' }, binaryData: { a: 'eA==' } }),
      ['binaryData.a: is a key of data, too: leave one of them out'],
    ],
    [
      'broken base64',
      secret({ data: { password: 'not base64!' } }),
      ['data.password: must be base64; in a Secret, plain text belongs into stringData'],
    ],
    [
      'base64 without its padding',
      secret({ data: { password: 'eA' } }),
      ['data.password: must be base64; in a Secret, plain text belongs into stringData'],
    ],
    ['an unknown field', configMap({ datas: {} }), ['datas: unknown field; did you mean "data"?']],
    ['stringData in a ConfigMap', configMap({ stringData: {} }), ['stringData: unknown field']],
    [
      'immutable that is a text',
      configMap({ immutable: 'yes' }),
      ['immutable: must be true or false (got a text)'],
    ],
    [
      'pull credentials without their key',
      secret({ type: 'kubernetes.io/dockerconfigjson', data: {} }),
      ['data[.dockerconfigjson]: is required in a Secret of type kubernetes.io/dockerconfigjson'],
    ],
    ['no name', configMap({}, {}), ['metadata.name: is required']],
    [
      'a name that no object may have',
      configMap({}, { name: 'No Name' }),
      [expect.stringContaining('metadata.name: must be') as unknown as string],
    ],
    ['a claim without a spec', { ...claim({}), spec: undefined }, ['spec: is required']],
    ['a claim of no size', claim({}), ['spec.resources.requests.storage: is required']],
    ['a claim of 0', claim(storage('0')), ['spec.resources.requests.storage: must be more than 0 (got "0")']],
    [
      'a claim of much',
      claim(storage('much')),
      [
        expect.stringContaining(
          'spec.resources.requests.storage: must be an amount such as 1Gi (got "much")',
        ) as unknown as string,
      ],
    ],
    [
      'a claim of an unknown access mode',
      claim({ ...storage('1Gi'), accessModes: ['RWO'] }),
      [
        'spec.accessModes[0]: must be one of ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod (got "RWO")',
      ],
    ],
    [
      'a claim of a block device, of a volume that is there',
      claim({ ...storage('1Gi'), volumeMode: 'Block', volumeName: 'pv-1' }),
      [
        'spec.volumeMode: must be Filesystem (got "Block"): a claim gets a folder here',
        'spec.volumeName: is not possible: a claim gets a new folder below the root folder',
      ],
    ],
  ])('%s', (_what, object, problems) => {
    expect(problemsOf(object, 'local')).toEqual(problems);
    expect(parse(object, 'local')).toMatchObject({ objects: [], isBroken: true });
  });
});

test('no message about a Secret repeats what is in it', () => {
  const wrong = secret({ data: { a: 'hunter2!' }, stringData: { b: { c: 'hunter2!' } }, more: 'hunter2!' });
  expect(problemsOf(wrong, 'local')).toHaveLength(3);
  expect(problemsOf(wrong, 'local').join()).not.toContain('hunter2');
});
