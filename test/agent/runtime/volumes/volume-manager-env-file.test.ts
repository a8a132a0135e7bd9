import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { podWith, run, VolumeBed } from './bed.ts';

let bed: VolumeBed;
beforeEach(() => void (bed = new VolumeBed()));
afterEach(() => bed.remove());

const POD = podWith([{ emptyDir: {} }]);
const folder = () => join(bed.podDir(), 'volumes/kubernetes.io~empty-dir/v0');
const read = (path: string, volumeName = 'v0') => bed.manager.envFile(POD, { volumeName, path, key: 'K' });

describe('an environment file in a volume', () => {
  beforeEach(async () => {
    await bed.mount(POD);
    mkdirSync(join(folder(), 'dir'));
    writeFileSync(join(folder(), 'dir/a'), "K='v'");
  });

  test('is read from the volume, through links within it', async () => {
    symlinkSync('dir', join(folder(), 'link'));
    for (const path of ['dir/a', 'link/a', './dir//a']) {
      expect(await read(path)).toEqual({ path: join(folder(), path), text: "K='v'" });
    }
  });

  const UNREADABLE = (path: string) =>
    `couldn't parse env file: ${path} of volume v0 must be a plain file in the volume, of no more than 1 MiB`;

  test.each(['absolute', 'relative', 'folder'])(
    'is never read through a link out of the volume (%s)',
    async (kind) => {
      const secret = join(bed.dir, 'secret');
      writeFileSync(secret, "K='of the node'");
      const target = { absolute: secret, relative: '../../../../../../secret', folder: bed.dir }[kind] ?? '';
      symlinkSync(target, join(folder(), 'out'));
      const path = kind === 'folder' ? 'out/secret' : 'out';
      expect(await read(path)).toEqual({ problem: expect.objectContaining({ message: UNREADABLE(path) }) });
      expect(bed.warnings).toEqual([expect.stringContaining('is outside of the volume')]);
    },
  );

  test('has the same error for a link out of the volume, whether its target exists or not', async () => {
    symlinkSync('/etc/passwd', join(folder(), 'there'));
    symlinkSync('/etc/no-such-file', join(folder(), 'nowhere'));
    const messages = await Promise.all(
      ['there', 'nowhere'].map(async (path) => {
        const found = await read(path);
        return 'problem' in found ? found.problem.message.replace(path, 'X') : found.text;
      }),
    );
    expect(messages).toEqual([UNREADABLE('X'), UNREADABLE('X')]);
  });

  test('is refused at once if it is missing, a folder, a pipe or too large', async () => {
    run('mkfifo', join(folder(), 'pipe'));
    writeFileSync(join(folder(), 'large'), Buffer.alloc(1024 * 1024 + 1));
    for (const path of ['missing', 'dir', 'pipe', 'large']) {
      expect(await read(path)).toEqual({ problem: expect.objectContaining({ message: UNREADABLE(path) }) });
    }
  });

  test('is not found in a volume that no container mounts', async () => {
    expect(await read('a', 'other')).toEqual({
      problem: expect.objectContaining({
        message: 'cannot find the volume "other" referenced by FileKeyRef',
      }),
    });
  });
});
