import { describe, expect, test } from '@jest/globals';
import { DBusReader, type DBusValue, DBusWriter, typesIn } from '../../../src/system/dbus/dbus-types.ts';
import { decodeMessage, encodeCall, messageLength } from '../../../src/system/dbus/dbus-message.ts';

const written = (signature: string, values: readonly DBusValue[]) => {
  const writer = new DBusWriter();
  writer.values(signature, values);
  return writer.bytes;
};

describe('values', () => {
  test.each<[string, readonly DBusValue[]]>([
    ['ybnqiuxtd', [255, true, -2, 65_535, -70_000, 4_000_000_000, -(2n ** 40n), 2n ** 64n - 1n, 0.5]],
    ['sog', ['grüße', '/a/b', 'a(sv)']],
    ['asay', [['', 'x'], []]],
    [
      'a(sv)',
      [
        [
          ['CPUShares', { signature: 't', value: 2n }],
          ['Wants', { signature: 'as', value: ['-.slice'] }],
        ],
      ],
    ],
    [
      'ya{su}y',
      [
        1,
        [
          ['a', 1],
          ['bc', 2],
        ],
        2,
      ],
    ],
    ['v', [{ signature: 'a(sa(sv))', value: [] }]],
  ])('of %s are read as they were written', (signature, values) => {
    expect(new DBusReader(written(signature, values), true).values(signature)).toEqual(values);
  });

  test('have the bytes that the specification shows', () => {
    // Each begins at a multiple of its size, an array of structs at a multiple of eight; texts end in zero.
    expect(written('yu', [1, 2]).toString('hex')).toBe('0100000002000000');
    expect(written('s', ['foo']).toString('hex')).toBe('03000000666f6f00');
    expect(written('at', [[5n]]).toString('hex')).toBe('08000000000000000500000000000000');
    expect(written('v', [{ signature: 'u', value: 7 }]).toString('hex')).toBe('0175000007000000');
  });

  test('of a machine with the other order of bytes are read', () => {
    expect(new DBusReader(Buffer.from('0000000200000003666f6f00', 'hex'), false).values('us')).toEqual([
      2,
      'foo',
    ]);
  });

  test('that end too early, are nested too deep or have no signature are an error', () => {
    const read = (hex: string, signature: string) => () =>
      new DBusReader(Buffer.from(hex, 'hex'), true).values(signature);
    expect(read('ff000000', 's')).toThrow('ends too early');
    expect(read('ffffffff', 'as')).toThrow('longer than its message');
    expect(
      read(
        '01760001760001760001760001760001760001760001760001760001760001760001760001760001760001760001760001760001',
        'v',
      ),
    ).toThrow();
    for (const signature of ['z', 'a', '(s', '()', 'a{', ')'])
      expect(() => typesIn(signature)).toThrow('no signature');
  });
});

describe('a message', () => {
  const call = {
    destination: 'org.x',
    path: '/x',
    interface: 'org.x.I',
    member: 'M',
    signature: 's',
    body: ['hello'],
  };

  test('is read as it was written, in pieces too', () => {
    const bytes = encodeCall(call, 7);
    expect(messageLength(bytes.subarray(0, 15))).toBeUndefined();
    expect(messageLength(bytes.subarray(0, 16))).toBe(bytes.length);
    const message = decodeMessage(bytes);
    expect(message).toMatchObject({ type: 'call', serial: 7, path: '/x', interface: 'org.x.I', member: 'M' });
    expect(message.body()).toEqual(['hello']);
  });

  test('that is longer than a megabyte, or is none, is an error before it is read', () => {
    const bytes = encodeCall(call, 7);
    bytes.writeUInt32LE(2 ** 31, 4);
    expect(() => messageLength(bytes)).toThrow('a message of 2147');
    expect(() => messageLength(Buffer.from('HTTP/1.1 400 Bad Request'))).toThrow('no message of D-Bus');
  });
});
