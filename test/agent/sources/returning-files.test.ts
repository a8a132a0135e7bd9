/** Files that are removed and made again. */
import { chmodSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { FileSourceBed, holds, names } from './file-source-bed.ts';
import { manifest } from './support.ts';

const { at, write, follow } = new FileSourceBed();

describe('what comes back', () => {
  test('a manifest that is removed and made again at once is gone in between, the others are not', async () => {
    await write('a.yaml', manifest('a'));
    await write('b.yaml', manifest('b'));
    const updates = follow();
    const before = await updates.until(holds('a', 'b'));
    rmSync(at('a.yaml'));
    writeFileSync(at('a.yaml'), manifest('a'));
    expect(names(await updates.next())).toEqual(['b']);
    expect(await updates.next()).toEqual(before);
    // By moves, too.
    renameSync(at('a.yaml'), at('.a'));
    await updates.until(holds('b'));
    renameSync(at('.a'), at('a.yaml'));
    expect(await updates.next()).toEqual(before);
  });

  test.each<[string, () => void]>([
    [
      'replaced again and again',
      () => {
        for (const draft of ['.one', '.two']) {
          writeFileSync(at(draft), manifest('a'));
          renameSync(at(draft), at('a.yaml'));
        }
      },
    ],
    ['written in place', () => writeFileSync(at('a.yaml'), manifest('a'))],
    ['given another mode', () => chmodSync(at('a.yaml'), 0o600)],
  ])('a manifest that is %s without a change is not gone', async (_what, act) => {
    await write('a.yaml', manifest('a'));
    const updates = follow();
    await updates.until(holds('a'));
    act();
    // The first update after that.
    await write('b.yaml', manifest('b'));
    expect(names(await updates.next())).toEqual(['a', 'b']);
  });

  test('a single file that is removed and made again at once is gone in between', async () => {
    await write('a.yaml', manifest('a'));
    const updates = follow(at('a.yaml'));
    const before = await updates.until(holds('a'));
    rmSync(at('a.yaml'));
    writeFileSync(at('a.yaml'), manifest('a'));
    expect(names(await updates.next())).toEqual([]);
    expect(await updates.until(holds('a'))).toEqual(before);
  });
});
