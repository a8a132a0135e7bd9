import { describe, expect, test } from '@jest/globals';
import { ALL_NODE_SETTINGS, resolveNodeSettings } from '../../../../src/agent/config/load-node-settings.ts';
import { parseSetting } from '../../../../src/agent/config/setting.ts';

const reservedMemory = ALL_NODE_SETTINGS.find(({ field }) => field === 'reservedMemory')!;
const resolve = (file: Record<string, unknown>) =>
  resolveNodeSettings({ flags: {}, file, fileName: 'kubelet.yaml' });

describe('reservedMemory', () => {
  test('is read from flags, which count together, and from the file', () => {
    const first = parseSetting(reservedMemory, '0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=1Gi');
    const nodes = [
      { numaNode: 0, limits: { memory: '1Gi', 'hugepages-1Gi': '2Gi' } },
      { numaNode: 1, limits: { memory: '1Gi' } },
    ];
    expect(first).toEqual(nodes);
    expect(parseSetting(reservedMemory, '2:memory=1Gi', first)).toEqual([
      ...nodes,
      { numaNode: 2, limits: { memory: '1Gi' } },
    ]);
    expect(reservedMemory.kind.show(nodes)).toBe('0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=1Gi');
    expect(resolve({ reservedMemory: [{ numaNode: 0, limits: { memory: 1024 } }] })).toMatchObject({
      reservedMemory: [{ numaNode: 0, limits: { memory: '1024' } }],
    });
  });

  test.each(['0', '0:', '0:memory', 'a:memory=1Gi', '0:memory=1Gi,memory=2Gi'])('%s is refused', (given) => {
    expect(() => parseSetting(reservedMemory, given)).toThrow('It must be NODE:TYPE=SIZE');
  });

  test.each([
    ['another kind', [{ numaNode: 0, limits: { cpu: '1' } }], 'not of cpu for NUMA node 0'],
    ['zero', [{ numaNode: 0, limits: { memory: '0' } }], 'more than zero'],
    ['no quantity', [{ numaNode: 0, limits: { memory: 'much' } }], 'a quantity such as 1Gi'],
    [
      'the same twice',
      [0, 0].map((numaNode) => ({ numaNode, limits: { memory: '1Gi' } })),
      'one amount of memory for NUMA node 0',
    ],
  ])('%s is refused', (_, value, problem) => {
    expect(() => resolve({ reservedMemory: value })).toThrow(problem);
  });
});

test('another policy than None and Static is refused', () => {
  expect(() => resolve({ memoryManagerPolicy: 'static' })).toThrow('must be None or Static');
});
