import { readdir, rmdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type ClaimedVolume, failedStep } from '../../../policies/volumes/claimed-volume.ts';
import { podFsGroup } from '../../../policies/volumes/volume-ownership.ts';
import { pluginFolder } from '../../../policies/volumes/volume-source.ts';
import { errnoCode, ifThere } from '../../../../system/system-errors.ts';
import { StateletError } from '../../../../types/errors.ts';
import { linkDevice, mapDevice } from '../block-device.ts';
import { bindMount, mountedPaths } from '../mounter.ts';
import { makeMountPoint } from './volume-folder.ts';
import { giveVolumeToGroup } from './volume-group.ts';
import type { PodVolume, VolumeKind, VolumeNode, VolumeSetUp } from './volume-kind.ts';

/**
 * A `local` PersistentVolume: a folder of the node that is mounted into the pod's folder. Before that, its files get the pod's
 * group. If the agent is killed meanwhile, the next one begins again.
 */
export const localKind: VolumeKind = {
  isOfPod: true,
  folder: ({ claimed, paths }) => paths.volume('local', claimed?.name ?? ''),
  setUp: (request, signal) =>
    request.claimed?.isBlock
      ? mapLocal(localVolume(request))
      : setUp(localVolume(request), request.node, signal),
  tearDown: ({ volumesDir }) => removeLocalVolumes(volumesDir),
};

type LocalSource = Extract<ClaimedVolume['source'], { readonly kind: 'local' }>;

interface LocalVolume extends Omit<LocalSource, 'kind'>, Pick<PodVolume, 'pod' | 'paths'> {
  /** The name of the PersistentVolume, and of the volume's folder. */
  readonly name: string;
}

function localVolume({ pod, paths, volume, claimed }: VolumeSetUp): LocalVolume {
  if (claimed?.source.kind === 'local') return { ...claimed.source, name: claimed.name, pod, paths };
  throw new StateletError('Internal', `the volume ${volume.name} has no claim of a local volume`);
}

async function setUp(volume: LocalVolume, node: VolumeNode, signal: AbortSignal): Promise<void> {
  const { name, path, mountOptions, isReadOnly, paths } = volume;
  const folder = paths.volume('local', name);
  const mounted = await mountedPaths();
  if (mounted.has(folder)) return;
  await checkFolder(volume);
  await giveToPod(volume, [...mounted].filter(isOtherMountOf(volume)), node, signal);
  signal.throwIfAborted();
  await makeMountPoint(folder);
  await bindMount(path, folder, [...(isReadOnly ? ['ro'] : []), ...mountOptions]);
}

async function mapLocal({ name, path, paths }: LocalVolume): Promise<void> {
  const device = paths.device('local', name);
  try {
    await linkDevice(device, path);
    await mapDevice(device, path);
  } catch (error) {
    throw failedStep('MapVolume.MapPodDevice', name, error);
  }
}

/** Mounts of the same PersistentVolume in the folders of other pods. */
function isOtherMountOf({ name, paths }: LocalVolume): (path: string) => boolean {
  const end = join('/volumes', pluginFolder('local'), name);
  const podsDir = `${dirname(paths.podDir)}/`;
  return (path) => path.startsWith(podsDir) && path.endsWith(end) && !path.startsWith(`${paths.podDir}/`);
}

/** The kubelet would make a file system on a block device, too. */
async function checkFolder({ name, path }: LocalVolume): Promise<void> {
  const found = await ifThere(stat(path));
  const problem =
    found === undefined
      ? `path "${path}" does not exist`
      : found.isBlockDevice()
        ? `${path} is a block device, which is not supported: mount its file system, and name that folder`
        : found.isDirectory()
          ? undefined
          : 'only directory and block device are supported';
  if (problem !== undefined) {
    const step = 'MountVolume.NewMounter initialization';
    throw failedStep(step, name, new StateletError('FailedPrecondition', problem));
  }
  if (path.split('/').includes('..'))
    throw new StateletError('InvalidArgument', `invalid path: ${path} must not contain '..'`);
}

/** As with the kubelet, only the first of several pods with one volume changes the group of its files. */
async function giveToPod(
  { name, path, isReadOnly, pod, paths }: LocalVolume,
  others: readonly string[],
  node: VolumeNode,
  signal: AbortSignal,
): Promise<void> {
  const fsGroup = podFsGroup(pod);
  if (fsGroup === undefined) return;
  if (others.length > 0) {
    const { gid } = await stat(path);
    if (gid === fsGroup) return;
    const message = `The requested fsGroup is ${fsGroup}, but the volume ${name} has GID ${gid}. The volume may not be shareable.`;
    node.recorder.event(pod.metadata, 'Warning', 'AlreadyMountedVolume', message);
    return;
  }
  if (isReadOnly) return;
  await giveVolumeToGroup(path, { pod, folder: paths.volume('local', name), paths }, node, signal);
}

/**
 * Removes the folders on which local volumes were mounted. Only empty folders are removed, whatever the table of mounts says: the files
 * of a volume belong to the user.
 */
async function removeLocalVolumes(volumesDir: string): Promise<void> {
  const pluginDir = join(volumesDir, pluginFolder('local'));
  for (const name of (await ifThere(readdir(pluginDir))) ?? []) {
    try {
      await rmdir(join(pluginDir, name));
    } catch (error) {
      if (errnoCode(error) === 'ENOENT') continue;
      const message = `the folder of the local volume ${name} is not empty, it is left as it is`;
      throw new StateletError('FailedPrecondition', message, { cause: error });
    }
  }
}
