import { describe, expect, test } from '@jest/globals';
import {
  freeRange,
  recordedRange,
  userNamespace,
  userNamespaceRecord,
} from '../../../src/policies/security/id-mappings.ts';

const WIDTH = 65_536;
const LAST = 2 ** 32 - 2 * WIDTH;

describe('the ids of a pod with hostUsers: false', () => {
  test("begin at a multiple of their number, and are never those of the node's own users", () => {
    for (let i = 0; i < 1_000; i++) {
      const hostId = freeRange(`uid-${i}`, new Set());
      expect(hostId % WIDTH).toBe(0);
      expect(hostId).toBeGreaterThanOrEqual(WIDTH);
      expect(hostId).toBeLessThanOrEqual(LAST);
    }
  });

  test('are not those of another pod', () => {
    const taken = new Set<number>();
    for (let i = 0; i < 1_000; i++) taken.add(freeRange('the-same', taken));
    expect(taken.size).toBe(1_000);
  });

  test('are refused with an error when all ranges are taken', () => {
    const all = new Set(Array.from({ length: LAST / WIDTH }, (_, index) => (index + 1) * WIDTH));
    expect(() => freeRange('x', all)).toThrow('every range of user ids is taken');
    all.delete(LAST);
    expect(freeRange('x', all)).toBe(LAST);
  });

  test('map root, for users and groups', () => {
    const mapping = { hostId: WIDTH, containerId: 0, length: WIDTH };
    expect(userNamespace(WIDTH)).toEqual({ mode: 'POD', uids: [mapping], gids: [mapping] });
  });
});

describe('the record of the ids', () => {
  test("has the kubelet's format", () => {
    const record =
      '{"uidMappings":[{"hostId":3650879488,"containerId":0,"length":65536}],' +
      '"gidMappings":[{"hostId":3650879488,"containerId":0,"length":65536}]}';
    expect(userNamespaceRecord(3_650_879_488)).toBe(record);
    expect(recordedRange(record)).toBe(3_650_879_488);
    expect(recordedRange(record.replaceAll(',', ', '))).toBe(3_650_879_488);
  });

  test.each([
    '',
    'x',
    'null',
    '{}',
    userNamespaceRecord(0),
    userNamespaceRecord(WIDTH).replace('65536}', '70000}'),
  ])('%j is no record', (text) => {
    expect(() => recordedRange(text)).toThrow('is no record of one range');
  });

  test('that does not begin at a multiple of 65536 is no record', () => {
    expect(() => recordedRange(userNamespaceRecord(WIDTH + 1))).toThrow('is no record of one range');
  });
});
