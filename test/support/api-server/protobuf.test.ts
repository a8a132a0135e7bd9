/** Bodies in protocol buffers, put together here byte by byte. */
import { describe, expect, test } from '@jest/globals';
import { protobufObject } from './protobuf.ts';

const varint = (value: bigint): number[] =>
  value < 128n ? [Number(value)] : [Number(value % 128n) + 128, ...varint(value / 128n)];

function field(number: number, value: string | readonly number[] | bigint): number[] {
  if (typeof value === 'bigint') return [...varint(BigInt(number * 8)), ...varint(BigInt.asUintN(64, value))];
  const bytes = typeof value === 'string' ? [...Buffer.from(value)] : value;
  return [...varint(BigInt(number * 8 + 2)), ...varint(BigInt(bytes.length)), ...bytes];
}

function body(apiVersion: string, kind: string, raw: readonly number[]): Buffer {
  const type = [...field(1, apiVersion), ...field(2, kind)];
  return Buffer.from([...Buffer.from('k8s\0'), ...field(1, type), ...field(2, raw)]);
}

describe('a body in protocol buffers', () => {
  test('becomes the object that it is in JSON, with maps, lists and times', () => {
    const labels = field(11, [...field(1, 'color'), ...field(2, 'blue')]);
    const metadata = [...field(1, 'readers'), ...field(8, field(1, 86_400n)), ...labels];
    const rule = [...field(1, 'get'), ...field(1, 'list'), ...field(3, 'pods')];
    expect(
      protobufObject(
        body('rbac.authorization.k8s.io/v1', 'Role', [...field(1, metadata), ...field(2, rule)]),
      ),
    ).toEqual({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name: 'readers', creationTimestamp: '1970-01-02T00:00:00Z', labels: { color: 'blue' } },
      rules: [{ verbs: ['get', 'list'], resources: ['pods'] }],
    });
  });

  test('keeps the sign of a number, and bytes as base64', () => {
    const low = body('scheduling.k8s.io/v1', 'PriorityClass', field(2, -5n));
    expect(protobufObject(low)).toMatchObject({ value: -5 });
    const secret = body('v1', 'Secret', field(2, [...field(1, 'word'), ...field(2, 'open')]));
    expect(protobufObject(secret)).toMatchObject({ data: { word: 'b3Blbg==' } });
  });

  test.each([
    ['ends in a field', body('v1', 'Secret', [10, 200]), /it ends in a/],
    ['is of a kind without fields', body('v1', 'Thing', []), /no fields of core\.Thing are known here/],
    ['is something else', Buffer.from('{}'), /does not appear to be a protobuf message/],
  ])('that %s is refused', (_what, bytes, why) => {
    expect(() => protobufObject(bytes)).toThrow(
      expect.objectContaining({ code: 400, message: expect.stringMatching(why) }),
    );
  });
});
