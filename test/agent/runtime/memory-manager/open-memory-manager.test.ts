import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { readNodeMemory } from '../../../../src/agent/runtime/memory-manager/open-memory-manager.ts';

/** Recorded from a machine with two nodes: kibibytes of memory, and how many pages of 2 MiB. */
const NODES = [
  ['24684100', '16'],
  ['24752132', '0'],
] as const;

test('the memory of each NUMA node is read from its files, with its huge pages', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'statelet-memory-'));
  try {
    NODES.forEach(([memory, pages], id) => {
      const folder = join(dir, `node/node${id}`);
      mkdirSync(join(folder, 'hugepages/hugepages-2048kB'), { recursive: true });
      writeFileSync(join(folder, 'hugepages/hugepages-2048kB/nr_hugepages'), `${pages}\n`);
      writeFileSync(
        join(folder, 'meminfo'),
        `Node ${id} MemTotal:       ${memory} kB\nNode ${id} MemFree:        13280244 kB\n`,
      );
    });
    const read = await readNodeMemory(dir);
    expect([...read].map(([id, kinds]) => [id, Object.fromEntries(kinds)])).toEqual([
      [0, { memory: 24_684_100 * 1024, 'hugepages-2Mi': 32 * 2 ** 20 }],
      [1, { memory: 24_752_132 * 1024, 'hugepages-2Mi': 0 }],
    ]);
    const [only] = await readNodeMemory(join(dir, 'without-numa'));
    expect(only?.[0]).toBe(0);
    expect(only?.[1].get('memory')).toBeGreaterThan(0);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
