import { open, stat } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { makeFolder } from '../../../../system/make-folder.ts';
import { hostPathCheck, type FileKind } from '../../../policies/volumes/empty-dir.ts';
import { hostPathOf } from '../../../policies/volumes/volume-source.ts';
import { StateletError } from '../../../../types/errors.ts';
import { errnoCode, ifThere } from '../../../../system/system-errors.ts';
import type { PodVolume, VolumeKind } from './volume-kind.ts';

/** A path of the node, of the pod's own spec or of a PersistentVolume. The node decides how it shares mounts. */
export const hostPathKind: VolumeKind = {
  folder: (volume) => hostPathOf(sourceOf(volume)),
  setUp: async (volume) => {
    const source = sourceOf(volume);
    await makeHostPath(hostPathOf(source), source.type ?? '');
  },
};

function sourceOf({ volume, claimed }: PodVolume): { readonly path: string; readonly type?: string } {
  if (claimed?.source.kind === 'hostPath') return claimed.source;
  return volume.hostPath ?? { path: '' };
}

/** Checks that the path is of the type that the volume asks for; makes it where the type says so. */
async function makeHostPath(path: string, type: string): Promise<void> {
  if (path.split('/').includes('..')) {
    throw new StateletError('InvalidArgument', `invalid HostPath \`${path}\`: must not contain '..'`);
  }
  const check = hostPathCheck(type);
  if (!check) return;
  let found = await kindAt(path);
  if (found === undefined && check.create) {
    await make(path, check.create);
    found = await kindAt(path);
  }
  const problem = check.problem(path, found);
  if (problem !== undefined) throw new StateletError('FailedPrecondition', problem);
}

/** The folder of a file must exist. A file that another process makes meanwhile is left as it is. */
async function make(
  path: string,
  { kind, mode }: { readonly kind: 'directory' | 'file'; readonly mode: number },
): Promise<void> {
  if (kind === 'directory') {
    await makeFolder(path, mode);
    return;
  }
  try {
    await (await open(path, 'wx', mode)).close();
  } catch (error) {
    if (errnoCode(error) !== 'EEXIST') throw error;
  }
}

async function kindAt(path: string): Promise<FileKind | undefined> {
  const stats = await ifThere(stat(path));
  return stats && kindOf(stats);
}

function kindOf(stats: Stats): FileKind {
  if (stats.isDirectory()) return 'directory';
  if (stats.isFile()) return 'file';
  if (stats.isSocket()) return 'socket';
  if (stats.isCharacterDevice()) return 'character device';
  return stats.isBlockDevice() ? 'block device' : 'other';
}
