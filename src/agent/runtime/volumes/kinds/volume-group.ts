import { realpath } from 'node:fs/promises';
import { dirname, relative } from 'node:path';
import { podFsGroup } from '../../../policies/volumes/volume-ownership.ts';
import { Timer } from '../../../../system/timer.ts';
import type { AgentContext } from '../../../../types/agent-context.ts';
import type { Pod } from '../../../../types/kubernetes.ts';
import { podFields } from '../../../../types/logger.ts';
import type { PodPaths } from '../pod-paths.ts';
import { giveToGroup } from './give-to-group.ts';

interface GivenVolume {
  readonly pod: Pod;
  /** The volume in the folder of the pod: for events. */
  readonly folder: string;
  readonly paths: Pick<PodPaths, 'podDir'>;
}

/**
 * Gives the files below `path` to the pod's group, if it has one. As with the kubelet, the pod starts even if some files cannot
 * be changed. An event says so if it takes long.
 */
export async function giveVolumeToGroup(
  path: string,
  { pod, folder, paths }: GivenVolume,
  context: Pick<AgentContext, 'clock' | 'recorder' | 'logger'>,
  signal: AbortSignal,
): Promise<void> {
  const fsGroup = podFsGroup(pod);
  if (fsGroup === undefined) return;
  const progress = new SlowChange(pod, relative(dirname(paths.podDir), folder), context);
  const changePolicy = pod.spec.securityContext?.fsGroupChangePolicy;
  try {
    const request = { fsGroup, changePolicy, onFile: () => progress.count() };
    const problem = await giveToGroup(await realpath(path), request, signal);
    if (problem === undefined) return;
    const what = `cannot give ${problem.count} files of a volume to the group ${fsGroup}`;
    context.logger.warn({ ...podFields(pod.metadata), path: problem.path }, `${what}: ${problem.problem}`);
  } finally {
    progress.stop();
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

  constructor(pod: Pod, folder: string, { clock, recorder }: Pick<AgentContext, 'clock' | 'recorder'>) {
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
