import { dirname, join } from 'node:path';
import {
  KINDS_IN_MEMORY,
  pluginFolder,
  VOLUME_KINDS,
  type VolumeKindName,
} from '../../policies/volumes/volume-source.ts';
import { StateletError } from '../../../types/errors.ts';

/** Kinds whose PersistentVolumes may be block devices. */
type BlockKind = Extract<VolumeKindName, 'local' | 'csi'>;

export interface DevicePaths {
  /** In the pod's folder. */
  readonly link: string;
  /** Where the device is mounted for the pod, in the folder of the plugin. */
  readonly mount: string;
}

/** The mode of folders that only the agent uses. Containers get volumes as mounts, and need no access to the folders above them. */
export const PRIVATE_FOLDER_MODE = 0o750;
/** The mode of the folder of all volumes of one kind. */
export const PLUGIN_FOLDER_MODE = 0o755;

/**
 * Where the kubelet keeps the files of a pod. Names of pods, volumes and containers become names of folders. Throws a StateletError
 * of kind InvalidArgument for a name that would lead to another folder.
 *
 * ```
 * <podsDir>/<uid>/                              0750
 *   start-time                                  0600, when the pod first started on this node
 *   known-containers                            0600, what the agent remembers of containers that run
 *   etc-hosts                                   0644, mounted at /etc/hosts
 *   containers/<container>/<attempt, 8 hex>     0666, the termination message of one instance
 *   volumes/kubernetes.io~<plugin>/             0755
 *   volumes/kubernetes.io~<plugin>/<volume>     the volume's content, or what is mounted there; of a local volume
 *                                               the name is that of the PersistentVolume
 *   volumes/kubernetes.io~csi/<volume>/mount    what a CSI driver mounts, with `vol_data.json` beside it
 *   volumeDevices/kubernetes.io~<plugin>/<name> a link to the block device of a PersistentVolume
 *   claims/<volume>                             0600, what the volume's claim leads to
 *   volume-subpaths/<volume>/<container>/<index of the mount>   bind mounts of parts of volumes
 * ```
 *
 * `memoryDir`: where volumes lie that must not be on a disk, if this process may not mount a file system on their folder.
 */
export function podPaths(podsDir: string, uid: string, memoryDir?: string) {
  const podDir = join(podsDir, folderName(uid));
  const ownMemoryDir = memoryDir === undefined ? undefined : join(memoryDir, folderName(uid));
  const subPathsDir = join(podDir, 'volume-subpaths');
  const volume = (kind: VolumeKindName, name: string) =>
    join(
      (KINDS_IN_MEMORY.has(kind) ? ownMemoryDir : undefined) ?? podDir,
      'volumes',
      pluginFolder(kind),
      folderName(name),
    );
  return {
    podDir,
    subPathsDir,
    memoryDir: ownMemoryDir,
    volumesDir: join(podDir, 'volumes'),
    devicesDir: join(podDir, 'volumeDevices'),
    startTimeFile: join(podDir, 'start-time'),
    knownContainersFile: join(podDir, 'known-containers'),
    claimFile: (volume: string) => join(podDir, 'claims', folderName(volume)),
    hostsFile: join(podDir, 'etc-hosts'),
    terminationDir: (container: string) => join(podDir, 'containers', folderName(container)),
    volume,
    /** What a CSI driver mounts. */
    csiMount: (name: string) => join(volume('csi', name), 'mount'),
    /** Of the block device of a PersistentVolume. */
    device: (kind: BlockKind, name: string): DevicePaths => {
      const devices = join(dirname(podsDir), 'plugins', VOLUME_KINDS[kind].plugin, 'volumeDevices');
      const folder = join(devices, folderName(name), kind === 'csi' ? 'dev' : '');
      const link = join(podDir, 'volumeDevices', pluginFolder(kind), folderName(name));
      return { link, mount: join(folder, folderName(uid)) };
    },
    subPath: (volume: string, container: string, index: number) =>
      join(subPathsDir, folderName(volume), folderName(container), String(index)),
  };
}

export type PodPaths = ReturnType<typeof podPaths>;

function folderName(name: string): string {
  if (name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name)) return name;
  throw new StateletError('InvalidArgument', `${JSON.stringify(name)} cannot be the name of a folder`);
}
