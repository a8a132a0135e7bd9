import { mkdirSync, statfsSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { MIB, StatsBed } from '../stats-bed.ts';

let bed: StatsBed;
let folder: string;
beforeEach(() => {
  bed = new StatsBed();
  folder = bed.cgroups.path('root');
});
afterEach(() => bed.cleanUp());

describe('the disks of the node', () => {
  const at = (path: string) => ({ timestamp: 0, mountpoint: path, usedBytes: 5 * MIB, inodesUsed: 50 });

  test('have their size from the kernel, and the usage of images from the runtime', async () => {
    bed.imageFs = [at(folder)];
    const { node } = await bed.summary();
    const { blocks, bsize, files } = statfsSync(folder);
    const size = { capacityBytes: blocks * bsize, inodes: files };
    expect(node.fs).toMatchObject(size);
    expect(node.fs?.usedBytes).toBeGreaterThan(0);
    const ofRuntime = { ...size, usedBytes: 5 * MIB, inodesUsed: 50 };
    expect(node.runtime).toMatchObject({ imageFs: ofRuntime, containerFs: ofRuntime });
  });

  test('writable layers may be on another disk than images', async () => {
    bed.imageFs = [at(folder)];
    bed.containerFs = [{ ...at('/proc'), usedBytes: MIB }];
    expect((await bed.summary()).node.runtime).toMatchObject({ containerFs: { usedBytes: MIB } });
    expect(await bed.open().diskLayout()).toEqual({ dedicatedImageFs: false, dedicatedContainerFs: true });
  });

  test('images may be on another disk than the root directory', async () => {
    bed.imageFs = [at('/proc')];
    expect(await bed.open().diskLayout()).toEqual({ dedicatedImageFs: true, dedicatedContainerFs: false });
  });

  test('a runtime without images has no disk', async () => {
    mkdirSync(bed.cgroups.path('root'), { recursive: true });
    expect((await bed.summary()).node).not.toHaveProperty('runtime');
    await expect(bed.open().diskLayout()).rejects.toThrow('does not say where it keeps images');
  });
});
