import { describe, expect, test } from '@jest/globals';
import protobuf from 'protobufjs';
import {
  bool,
  bytes,
  enumeration,
  field,
  int,
  list,
  map,
  mapOf,
  message,
  string,
  wrapped,
} from '../../src/system/protobuf.ts';

/** The same message for a library that is known to be right. */
const { root } = protobuf.parse(`
  syntax = "proto3";
  message Int64Value { int64 value = 1; }
  message Spec { string image = 1; string other = 2; }
  enum Mode { POD = 0; CONTAINER = 1; NODE = 2; }
  message Inner { string name = 1; Inner inner = 2; }
  message All {
    string text = 1;
    bytes data = 2;
    int64 number = 3;
    bool flag = 4;
    Mode mode = 5;
    Int64Value user = 6;
    Spec spec = 7;
    repeated string texts = 8;
    repeated Inner inners = 9;
    map<string, string> labels = 10;
    repeated int64 groups = 11;
    Inner inner = 200;
    double unknown1 = 12;
    float unknown2 = 13;
    string unknown3 = 14;
    int32 unknown4 = 15;
  }
`);
const theirs = root.lookupType('All');

interface Inner {
  readonly name: string;
  readonly inner?: Inner;
}
interface All {
  readonly text?: string;
  readonly data?: Buffer;
  readonly number?: number;
  readonly flag?: boolean;
  readonly mode?: 'POD' | 'CONTAINER' | 'NODE';
  readonly user?: number;
  readonly spec?: string;
  readonly texts?: readonly string[];
  readonly inners?: readonly Inner[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly groups?: readonly number[];
  readonly inner?: Inner;
}
const leaf = message<Inner>({
  name: field(1, string),
  inner: field(2, message<Inner>({ name: field(1, string), inner: field(2, message<never>({} as never)) })),
});
const ours = message<All>({
  text: field(1, string),
  data: field(2, bytes),
  number: field(3, int),
  flag: field(4, bool),
  mode: field(5, enumeration(['POD', 'CONTAINER', 'NODE'])),
  user: field(6, wrapped(int)),
  spec: field(7, wrapped(string)),
  texts: list(8, string),
  inners: list(9, leaf),
  labels: map(10),
  groups: list(11, int),
  inner: field(200, leaf),
});

const read = (encoded: Buffer) => theirs.toObject(theirs.decode(encoded), { longs: Number, enums: String });
const write = (object: object) => Buffer.from(theirs.encode(theirs.fromObject(object)).finish());

const NUMBERS = [
  0,
  1,
  127,
  128,
  300,
  2 ** 28 - 1,
  2 ** 28,
  2 ** 31,
  2 ** 32,
  2 ** 53 - 1,
  1795251030531979300,
];
const NEGATIVE = [-1, -997, -(2 ** 31), -(2 ** 40), -(2 ** 53 - 1), -(2 ** 63)];

describe('a message of protocol buffers', () => {
  test.each([...NUMBERS, ...NEGATIVE])('carries the number %d', (number) => {
    expect(read(ours.encode({ number, user: number }))).toEqual(
      number === 0 ? { user: {} } : { number, user: { value: number } },
    );
    expect(ours.decode(write({ number, user: { value: number } }))).toMatchObject({ number, user: number });
  });

  test('carries the largest int64, which is 2^63 as a number of JavaScript', () => {
    const number = Number(2n ** 63n - 1n);
    const largest = Buffer.from('18ffffffffffffffff7f', 'hex');
    expect(Buffer.from(ours.encode({ number }))).toEqual(largest);
    expect(ours.decode(largest)).toMatchObject({ number });
  });

  const full = {
    text: 'ä€😀',
    flag: true,
    mode: 'NODE' as const,
    texts: ['a', '', 'b'],
    labels: { 'io.kubernetes.pod.uid': 'u', empty: '' },
    inner: { name: 'outer', inner: { name: 'inner' } },
    inners: [{ name: 'first' }, { name: '' }, { name: 'third' }],
  };

  test('is read by another implementation as it was written', () => {
    const data = Buffer.from([0, 255, 7]);
    const encoded = ours.encode({ ...full, data, spec: 'image', groups: [5, 0, 7] });
    expect(read(encoded)).toEqual({
      ...full,
      data,
      spec: { image: 'image' },
      groups: [5, 0, 7],
      inners: [{ name: 'first' }, {}, { name: 'third' }],
    });
  });

  test('is read as another implementation wrote it', () => {
    const data = Buffer.from([0, 255, 7]);
    // Numbers in a list are packed by this one, and by Go.
    const groups = [5, 0, 300, 2 ** 40];
    const decoded = ours.decode(write({ ...full, data, groups, spec: { image: 'image', other: 'skipped' } }));
    expect(decoded).toMatchObject({ ...full, data, groups, spec: 'image' });
  });

  test('passes over fields that it does not know, of every wire type', () => {
    const unknown = { unknown1: 1.5, unknown2: 2.5, unknown3: 'three', unknown4: -4 };
    expect(ours.decode(write({ ...unknown, text: 'known' })).text).toBe('known');
  });

  test('has what proto3 gives for absent fields; an absent message is undefined', () => {
    expect(ours.decode(Buffer.alloc(0))).toEqual({
      text: '',
      data: Buffer.alloc(0),
      number: 0,
      flag: false,
      mode: 'POD',
      texts: [],
      inners: [],
      labels: {},
      groups: [],
    });
    expect(ours.encode({ text: '', number: 0, flag: false, mode: 'POD', texts: [], labels: {} }).length).toBe(
      0,
    );
  });

  test('distinguishes a wrapped zero from an absent value', () => {
    expect(ours.decode(ours.encode({ user: 0 })).user).toBe(0);
    expect(ours.decode(ours.encode({})).user).toBeUndefined();
  });

  test('may be large', () => {
    const text = 'x'.repeat(5000);
    const texts = Array.from({ length: 500 }, (_, index) => text + String(index));
    expect(ours.decode(ours.encode({ text, texts }))).toMatchObject({ text, texts });
  });

  test('reads a number for which it has no name as the last name', () => {
    expect(ours.decode(Buffer.from([5 << 3, 9])).mode).toBe('NODE');
  });

  test('has a map of messages, where a message may be left out', () => {
    const ofInner = message({ inners: mapOf(1, message<{ name: string }>({ name: field(1, string) })) });
    const { root: mapRoot } = protobuf.parse(
      'syntax = "proto3"; message Inner { string name = 1; } message M { map<string, Inner> inners = 1; }',
    );
    const type = mapRoot.lookupType('M');
    const inners = { a: { name: 'x' }, b: { name: '' } };
    const encoded = ofInner.encode({ inners });
    expect(type.toObject(type.decode(encoded))).toEqual({ inners: { a: { name: 'x' }, b: {} } });
    expect(ofInner.decode(Buffer.from(type.encode({ inners }).finish()))).toEqual({ inners });
    // As Go writes an entry with a nil message: only the key.
    expect(ofInner.decode(Buffer.from([10, 3, 10, 1, 99]))).toEqual({ inners: { c: { name: '' } } });
  });

  test('shares no list and no map with the next one', () => {
    const encoded = ours.encode({ texts: ['a'], labels: { a: 'b' } });
    ours.decode(encoded);
    expect(ours.decode(encoded)).toMatchObject({ texts: ['a'], labels: { a: 'b' } });
    expect(ours.decode(Buffer.alloc(0))).toMatchObject({ texts: [], labels: {} });
  });

  test('that is cut off is an error wherever that is, never half a message', () => {
    const encoded = ours.encode({ ...full, number: 2 ** 40 });
    const whole = JSON.stringify(ours.decode(encoded));
    for (let length = 1; length < encoded.length; length++) {
      let decoded: string | undefined;
      try {
        decoded = JSON.stringify(ours.decode(encoded.subarray(0, length)));
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError);
        continue;
      }
      // Cut between two fields.
      expect(decoded.length).toBeLessThan(whole.length);
    }
  });
});
