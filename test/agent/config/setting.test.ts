import { describe, expect, test } from '@jest/globals';
import {
  atLeast,
  burst,
  bytes,
  duration,
  fieldsOf,
  flagKey,
  flagOrNot,
  type Kind,
  list,
  number,
  oneList,
  parseSetting,
  positive,
  resolveSettings,
  shownDefault,
  type Setting,
  texts,
} from '../../../src/agent/config/setting.ts';

interface Limits {
  readonly pods: number;
  readonly timeoutMs: number;
}
const TABLE = {
  pods: {
    flag: '--pods-max <N>',
    field: 'podsMax',
    default: 5,
    kind: positive,
    problem: atLeast(1),
    description: 'how many',
  },
  timeoutMs: { field: 'timeout', default: 1_000, kind: duration, description: 'how long' },
};
const resolve = (flags: Record<string, unknown>, file: Record<string, unknown> = {}) =>
  resolveSettings<Limits>(TABLE, { flags, file, fileName: 'kubelet.yaml' });

describe('a table of settings', () => {
  test('takes the flag before the field, and the field before the default', () => {
    expect(resolve({})).toEqual({ pods: 5, timeoutMs: 1_000 });
    expect(resolve({}, { podsMax: 7, timeout: '2s' })).toEqual({ pods: 7, timeoutMs: 2_000 });
    expect(resolve({ podsMax: 9 }, { podsMax: 7 }).pods).toBe(9);
  });

  test('takes 0 in the file as the default, if the kubelet does', () => {
    expect(resolve({}, { podsMax: 0, timeout: '0s' })).toEqual({ pods: 5, timeoutMs: 1_000 });
  });

  test('names the flag, or the file and its field, of a value out of range', () => {
    expect(() => resolve({ podsMax: 0 })).toThrow(/^--pods-max: must be 1 or more \(got 0\)/);
    expect(() => resolve({}, { podsMax: -3 })).toThrow(/^kubelet\.yaml: podsMax: must be 1 or more/);
  });

  test('lists its fields', () => {
    expect(fieldsOf(Object.values(TABLE) as unknown as Setting[])).toEqual(['podsMax', 'timeout']);
  });
});

test('the key of a flag is the same as in commander', () => {
  expect(['--node-ip <IP>', '--cgroups-per-qos [BOOL]'].map(flagKey)).toEqual(['nodeIp', 'cgroupsPerQos']);
});

test('texts of flags are read by their kind', () => {
  expect([number.fromText('-1'), number.fromText('1.5')]).toEqual([-1, undefined]);
  expect([duration.fromText('1m30s'), duration.fromText('soon')]).toEqual([90_000, undefined]);
  expect([bytes.fromText('10Mi'), bytes.fromText('much')]).toEqual([10 * 2 ** 20, undefined]);
  expect([flagOrNot.fromText('true'), flagOrNot.fromText('yes')]).toEqual([true, undefined]);
});

test('a text that is not valid is an error that says what is expected', () => {
  const setting = { ...TABLE.pods } as unknown as Setting;
  expect(parseSetting(setting, '3')).toBe(3);
  expect(() => parseSetting(setting, 'many')).toThrow('It must be a whole number.');
  expect(shownDefault(setting)).toBe('5');
});

test('pairs of a repeated flag are combined; the last value of a name counts', () => {
  const pairs = texts('=', 'NAME=VALUE');
  const first = pairs.fromText('a=1,b=2') ?? {};
  expect(pairs.merge?.(first, pairs.fromText('b=3') ?? {})).toEqual({ a: '1', b: '3' });
  expect(pairs.fromText('a')).toBeUndefined();
});

test('lists of a repeated flag are joined, where the kubelet joins them', () => {
  const setting = (kind: Kind<readonly string[]>) =>
    ({ kind, default: [], description: '' }) as unknown as Setting;
  expect(parseSetting(setting(list), 'c', ['a', 'b'])).toEqual(['a', 'b', 'c']);
  expect(parseSetting(setting(oneList), 'c', ['a', 'b'])).toEqual(['c']);
});

test('0 of a flag stands for the default where the kubelet takes it so', () => {
  const table = { queries: { flag: '--queries <N>', default: 50, kind: burst, description: '' } };
  const resolve = (queries?: number) =>
    resolveSettings<{ queries: number }>(table, { flags: { queries }, file: {}, fileName: 'file' }).queries;
  expect([resolve(), resolve(0), resolve(7)]).toEqual([50, 50, 7]);
});

test('a truth value is written as in Go', () => {
  const read = (...words: string[]) => words.map((word) => flagOrNot.fromText(word));
  expect(new Set(read('1', 't', 'T', 'true', 'TRUE', 'True'))).toEqual(new Set([true]));
  expect(new Set(read('0', 'f', 'F', 'false', 'FALSE', 'False'))).toEqual(new Set([false]));
  expect(new Set(read('', 'yes', 'tRUE', ' true', 'toString'))).toEqual(new Set([undefined]));
});
