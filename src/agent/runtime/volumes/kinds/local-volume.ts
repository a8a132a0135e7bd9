import { readdir, realpath, rmdir, stat } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { makeFolder } from '../../../../system/make-folder.ts';
import { type ClaimedVolume, failedStep } from '../../../policies/volumes/claimed-volume.ts';
import { podFsGroup } from '../../../policies/volumes/volume-ownership.ts';
import { pluginFolder } from '../../../policies/volumes/volume-source.ts';
import { errnoCode, ifThere } from '../../../../system/system-errors.ts';
import { Timer } from '../../../../system/timer.ts';
import { StateletError } from '../../../../types/errors.ts';
import type { Pod } from '../../../../types/kubernetes.ts';
import { podFields } from '../../../../types/logger.ts';
import { bindMount, mountedPaths } from '../mounter.ts';
import { PLUGIN_FOLDER_MODE, PRIVATE_FOLDER_MODE } from '../pod-paths.ts';
import { giveToGroup } from './give-to-group.ts';
import type { PodVolume, VolumeKind, VolumeNode, VolumeSetUp } from './volume-kind.ts';

/**
 * A folder of the node, of a PersistentVolume, that is mounted into the pod's folder. The pod's group gets its files before that: of an
 * agent that is killed meanwhile, the next one begins again.
 */
export const localKind: VolumeKind = {
  isOfPod: true,
  folder: ({ claimed, paths }) => paths.volume('local', claimed?.name ?? ''),
  setUp: (request, signal) => setUp(localVolume(request), request.node, signal),
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
  await makeFolder(dirname(dirname(folder)), PRIVATE_FOLDER_MODE);
  await makeFolder(dirname(folder), PLUGIN_FOLDER_MODE);
  await makeFolder(folder, PRIVATE_FOLDER_MODE);
  await bindMount(path, folder, [...(isReadOnly ? ['ro'] : []), ...mountOptions]);
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
  const progress = new SlowChange(pod, relative(dirname(paths.podDir), paths.volume('local', name)), node);
  const changePolicy = pod.spec.securityContext?.fsGroupChangePolicy;
  try {
    const request = { fsGroup, changePolicy, onFile: () => progress.count() };
    const problem = await giveToGroup(await realpath(path), request, signal);
    if (problem === undefined) return;
    const what = `cannot give ${problem.count} files of a volume to the group ${fsGroup}`;
    node.logger.warn({ ...podFields(pod.metadata), path: problem.path }, `${what}: ${problem.problem}`);
  } finally {
    progress.stop();
  }
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

/** After this time an event says that the change of owners takes long, and then once a minute. */
const SLOW_MS = 30_000;
const STILL_SLOW_MS = 60_000;
const ON_ROOT_MISMATCH =
  'https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#configure-volume-permission-and-ownership-change-policy-for-pods';

/** Events about a change of owners that takes long. */
class SlowChange {
  readonly #timer: Timer;
  readonly #tell: (message: string) => void;
  readonly #what: string;
  #files = 0;

  constructor(pod: Pod, folder: string, { clock, recorder }: Pick<VolumeNode, 'clock' | 'recorder'>) {
    this.#timer = new Timer(clock);
    this.#what = `Setting volume ownership for ${folder}`;
    this.#tell = (message) =>
      recorder.event(pod.metadata, 'Warning', 'VolumePermissionChangeInProgress', message);
    this.#timer.arm(SLOW_MS, () => {
      this.#tell(
        `${this.#what} is taking longer than expected, consider using OnRootMismatch - ${ON_ROOT_MISMATCH}`,
      );
      this.#again();
    });
  }

  count(): void {
    this.#files += 1;
  }

  stop(): void {
    this.#timer.disarm();
  }

  #again(): void {
    this.#timer.arm(STILL_SLOW_MS, () => {
      this.#tell(`${this.#what}, processed ${this.#files} files.`);
      this.#again();
    });
  }
}
