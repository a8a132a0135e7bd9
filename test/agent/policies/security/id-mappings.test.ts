import { describe, expect, test } from '@jest/globals';
import {
  freeRange,
  idSpace,
  recordedRange,
  subordinateIds,
  userNamespace,
  userNamespaceRecord,
} from '../../../../src/agent/policies/security/id-mappings.ts';

const WIDTH = 65_536;
const LAST = 2 ** 32 - 2 * WIDTH;
const ALL = idSpace(WIDTH, 110);
const range = (hostId: number, length = WIDTH) => ({ hostId, length });

describe('the ids that pods may have', () => {
  test('are by default all but those of the first and the last range', () => {
    expect(ALL).toEqual({ ids: range(WIDTH, LAST), idsPerPod: WIDTH });
    expect(idSpace(2 * WIDTH, 110).ids.hostId).toBe(2 * WIDTH);
  });

  test('are those that are reserved, which must be aligned and enough', () => {
    const space = (hostId: number, length: number) => () => idSpace(WIDTH, 110, range(hostId, length));
    expect(space(WIDTH, 110 * WIDTH)().ids).toEqual(range(WIDTH, 110 * WIDTH));
    expect(space(100_000, 110 * WIDTH)).toThrow('kubelet user assigned ID 100000 is not a multiple of 65536');
    expect(space(0, 110 * WIDTH)).toThrow('kubelet user assigned ID 0 must be greater or equal to 65536');
    expect(space(WIDTH, 1_000)).toThrow('kubelet user assigned IDs length 1000 is not a multiple of 65536');
    expect(space(WIDTH, 109 * WIDTH)).toThrow('kubelet user assigned IDs are not enough to support 110 pods');
    expect(() => idSpace(2 ** 28, 110)).toThrow('not enough to support 110 pods');
  });

  test('are read from what getsubids prints', () => {
    expect(subordinateIds('0: kubelet 65536 7208960\n')).toEqual(range(WIDTH, 7_208_960));
    for (const text of ['', '0: kubelet 1 1\n1: kubelet 2 2\n'])
      expect(() => subordinateIds(text)).toThrow('it must contain only one line');
    for (const text of ['0: kubelet 65536', '0: kubelet -1 5', '0: kubelet 9999999999 65536', 'nonsense'])
      expect(() => subordinateIds(text)).toThrow('invalid line');
  });
});

describe('the ids of a pod with hostUsers: false', () => {
  test("begin at a multiple of their number, and are never those of the node's own users", () => {
    for (let i = 0; i < 1_000; i++) {
      const hostId = freeRange(`uid-${i}`, ALL, []).hostId;
      expect(hostId % WIDTH).toBe(0);
      expect(hostId).toBeGreaterThanOrEqual(WIDTH);
      expect(hostId).toBeLessThanOrEqual(LAST);
    }
  });

  test('are not those of another pod', () => {
    const taken: ReturnType<typeof range>[] = [];
    for (let i = 0; i < 300; i++) taken.push(freeRange('the-same', ALL, taken));
    expect(new Set(taken.map(({ hostId }) => hostId)).size).toBe(300);
  });

  test('overlap with no range of an agent that gave another number', () => {
    const space = idSpace(WIDTH, 4, range(WIDTH, 4 * WIDTH));
    const free = () => freeRange('x', space, [range(2 * WIDTH, 2 * WIDTH), range(WIDTH)]);
    expect(free()).toEqual(range(4 * WIDTH));
    expect(freeRange('x', space, [range(100 * WIDTH)]).hostId).toBeLessThan(100 * WIDTH);
  });

  test('are refused with an error when all ranges are taken', () => {
    const all = Array.from({ length: LAST / WIDTH }, (_, index) => range((index + 1) * WIDTH));
    expect(() => freeRange('x', ALL, all)).toThrow('every range of user ids is taken');
    expect(freeRange('x', ALL, all.slice(0, -1))).toEqual(range(LAST));
  });

  test('map root, for users and groups', () => {
    const mapping = { hostId: WIDTH, containerId: 0, length: WIDTH };
    expect(userNamespace(range(WIDTH))).toEqual({ mode: 'POD', uids: [mapping], gids: [mapping] });
  });
});

describe('the record of the ids', () => {
  test("has the kubelet's format", () => {
    const record =
      '{"uidMappings":[{"hostId":3650879488,"containerId":0,"length":65536}],' +
      '"gidMappings":[{"hostId":3650879488,"containerId":0,"length":65536}]}';
    expect(userNamespaceRecord(range(3_650_879_488))).toBe(record);
    expect(recordedRange(record)).toEqual(range(3_650_879_488));
    expect(recordedRange(record.replaceAll(',', ', '))).toEqual(range(3_650_879_488));
  });

  test.each([
    '',
    'x',
    'null',
    '{}',
    userNamespaceRecord(range(0)),
    userNamespaceRecord(range(WIDTH)).replace('65536}', '70000}'),
  ])('%j is no record', (text) => {
    expect(() => recordedRange(text)).toThrow('is no record of one range');
  });

  test('that does not begin at a multiple of 65536 is no record', () => {
    expect(() => recordedRange(userNamespaceRecord(range(WIDTH + 1)))).toThrow('is no record of one range');
  });
});
