import { closeSync, linkSync, mkdirSync, openSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { diskUsed, Pace } from '../../../../../src/agent/runtime/stats/disks/disk-walk.ts';
import { placeOf } from '../../../../../src/system/files/open-place.ts';
import { removeTree } from '../../../../../src/system/files/remove-tree.ts';
import { MIB, StatsBed } from '../stats-bed.ts';

let bed: StatsBed;
beforeEach(() => {
  bed = new StatsBed();
});
afterEach(() => bed.cleanUp());

const pace = () => new Pace(new AbortController().signal);
const used = () => diskUsed(bed.cgroups.path('data'), pace());
const text = (bytes: number) => 'x'.repeat(bytes);
const onDisk = (path: string) => statSync(bed.cgroups.path(path)).blocks * 512;

describe('the disk usage of a folder', () => {
  test('is the blocks of the folder and everything in it', async () => {
    bed.write('data/one', text(10_000));
    bed.write('data/below/two', text(100));
    const paths = ['data', 'data/one', 'data/below', 'data/below/two'];
    const usedBytes = paths.map(onDisk).reduce((a, b) => a + b);
    expect(await used()).toEqual({ usedBytes, inodesUsed: 4 });
    expect(usedBytes).toBeGreaterThan(10_000);
  });

  test('counts a file with several names once, and a link as itself', async () => {
    bed.write('data/one', text(MIB));
    linkSync(bed.cgroups.path('data/one'), bed.cgroups.path('data/same'));
    bed.write('outside', text(MIB));
    symlinkSync(bed.cgroups.path('outside'), bed.cgroups.path('data/link'));
    const { usedBytes, inodesUsed } = await used();
    expect(inodesUsed).toBe(3);
    expect(usedBytes).toBeLessThan(1.5 * MIB);
  });

  test('is zero if there is no folder', async () => {
    expect(await used()).toEqual({ usedBytes: 0, inodesUsed: 0 });
  });

  test('is what was counted so far if the time is over, and isOver is set', async () => {
    for (let index = 0; index < 600; index += 1) bed.write(`data/${index}`, '');
    const hurried = pace();
    const { inodesUsed } = await hurried.within(-1, () => diskUsed(bed.cgroups.path('data'), hurried));
    expect(hurried.isOver).toBe(true);
    expect(inodesUsed).toBe(256);
  });

  test('counts files below folders of any depth, and with names that are not UTF-8', async () => {
    bed.write('data/one', '');
    let at = openSync(bed.cgroups.path('data'), 'r');
    // Deeper than a path can be.
    for (let depth = 0; depth < 60; depth++) {
      const inner = `${placeOf({ fd: at })}/${'deep'.repeat(25)}`;
      mkdirSync(inner);
      const next = openSync(inner, 'r');
      closeSync(at);
      at = next;
    }
    writeFileSync(`${placeOf({ fd: at })}/large`, text(MIB));
    closeSync(at);
    const odd = Buffer.concat([Buffer.from(`${bed.cgroups.path('data')}/`), Buffer.from([0xff, 0x80])]);
    mkdirSync(odd);
    writeFileSync(Buffer.concat([odd, Buffer.from([0x2f, 0xc3])]), text(MIB));
    const { usedBytes, inodesUsed } = await used();
    expect(inodesUsed).toBe(1 + 1 + 60 + 1 + 1 + 1);
    expect(usedBytes).toBeGreaterThanOrEqual(2 * MIB);
    await removeTree(bed.cgroups.path('data'));
  });

  test('rejects when the signal aborts', async () => {
    for (let index = 0; index < 600; index += 1) bed.write(`data/${index}`, '');
    const given = new Pace(AbortSignal.abort());
    await expect(diskUsed(bed.cgroups.path('data'), given)).rejects.toMatchObject({ name: 'AbortError' });
  });
});
