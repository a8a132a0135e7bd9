import { expect, test } from '@jest/globals';
import { FilesSize } from '../../../src/policies/volumes/files-size.ts';

const MIB = 1024 * 1024;
const files = (bytes: number) => [{ path: 'f', content: new Uint8Array(bytes), mode: 0o644 }];

test('a volume may have 32 MiB of files, from whatever sources; more is an error that names the volume', () => {
  const size = new FilesSize({ name: 'all' });
  const first = files(31 * MIB);
  expect(size.counted(first)).toBe(first);
  expect(size.counted(files(MIB))).toHaveLength(1);
  expect(() => size.counted(files(1))).toThrow(
    'volume "all" has more than 32 MiB of files from ConfigMaps, Secrets and the pod; leave some of its sources or items out',
  );
});
