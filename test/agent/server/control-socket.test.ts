import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { readAddress, removeAddress, writeAddress } from '../../../src/agent/server/control-socket.ts';

test('the address is written whole, read back and removed', async () => {
  const root = await mkdtemp(join(tmpdir(), 'statelet-'));
  try {
    expect(await readAddress(root)).toBeUndefined();
    await writeAddress(root, '127.0.0.1:1');
    await writeAddress(root, '127.0.0.1:2');
    expect(await readAddress(root)).toBe('127.0.0.1:2');
    expect(await readdir(root)).toEqual(['statelet.addr']);
    await removeAddress(root);
    await removeAddress(root);
    expect(await readAddress(root)).toBeUndefined();
  } finally {
    await rm(root, { recursive: true });
  }
});
