import type { VolumeSource } from '../../../policies/volumes/claimed-volume.ts';
import type { ResourceList } from '../../../policies/pod/resources.ts';
import type { MountPlan } from '../../../policies/volumes/volume-mounts.ts';
import type { AgentContext } from '../../../../types/agent-context.ts';
import type { Mount } from '../../../../types/cri.ts';
import type { Pod } from '../../../../types/kubernetes.ts';
import type { PodPaths } from '../pod-paths.ts';
import type { VolumeContentsByKind } from './volume-contents.ts';

/** What this agent has set up of a volume. Another agent looks it up on the disk. */
export interface VolumeState {
  /** The volume as it was set up, so that a changed one is set up again. Undefined until it has been set up. */
  readyAs?: string;
  /** The files that have been written, without the contents: those may be secret. `version`: the folder that has them. */
  written?: { readonly digest: string; readonly version: string };
  /** Its content follows the pod and objects of the API server, so it is set up again in every sync. */
  isKeptFresh?: boolean;
  /** All its files have the SELinux label of the pod by the mount. */
  isLabelled?: boolean;
  underWay?: Promise<void>;
}

/** A volume that a container of the pod uses. */
export interface PodVolume extends VolumeSource {
  readonly pod: Pod;
  readonly paths: PodPaths;
}

/** For an agent that may not mount: it writes files to plain folders, and passes a part of a volume by its path. */
export interface WithoutMounts {
  /** A folder in memory, for files that must not be on a disk. */
  readonly memoryDir?: string;
}

/** What CSI drivers mount in the folders of pods. */
export interface CsiMounts {
  /** Publishes the volume. If it is published already, the driver does nothing. */
  mount(volume: Omit<VolumeSetUp, 'node'>, signal: AbortSignal): Promise<void>;
  /** Has drivers unpublish all volumes in the pod's folder. Rejects if one fails, and leaves its mounts. */
  unmount(podUID: string, paths: Pick<PodPaths, 'volumesDir' | 'devicesDir' | 'device'>): Promise<void>;
  /**
   * The API names of the pod's volumes that are not attached because the node can have no more volumes of their driver; undefined
   * if there are none.
   */
  beyondLimit(podUID: string): Promise<ReadonlySet<string> | undefined>;
  /** Whether the driver's mount of the volume is there. */
  isMounted(volume: PodVolume): Promise<boolean>;
}

/** What kinds of volumes need from the node. */
export interface VolumeNode extends AgentContext {
  /** The node's allocatable resources. */
  readonly allocatable: ResourceList;
  readonly contents: VolumeContentsByKind;
  /** Containers can have devices of the node. */
  readonly givesDevices?: boolean | undefined;
  /** Undefined where CSI drivers cannot serve this node. */
  readonly csi?: CsiMounts | undefined;
  /** Only where this process may mount nothing on the node. */
  readonly withoutMounts?: WithoutMounts;
}

export interface VolumeSetUp extends PodVolume {
  readonly state: VolumeState;
  readonly node: VolumeNode;
}

/**
 * One kind of volume, or several that are set up alike. `VOLUME_KINDS` in `src/agent/policies/volumes/volume-source.ts` has the field by which it
 * is recognised in a spec, and what policies need to know of it; `setUpKinds` in `volume-kinds.ts` names the kind that serves that field.
 */
export interface VolumeKind {
  /**
   * Makes the volume ready for containers. It is called for a new volume, for one whose spec has changed, and after a restart of the
   * agent: what a former agent has set up is found on the disk or in the kernel, and is not made anew. If the signal aborts, it may go on,
   * and the next call waits until it has ended.
   */
  setUp(request: VolumeSetUp, signal: AbortSignal): Promise<void>;
  /** The pod does not wait when the volume is set up again, because another process does it. */
  readonly isRefreshedBeside?: boolean;
  /** Whether containers can use what is there though the last `setUp` has failed. Without this hook they cannot. */
  isUsable?(volume: PodVolume, node: VolumeNode): Promise<boolean>;
  /** The folder of the node that containers mount, as a whole or in part. */
  folder?(volume: PodVolume): string;
  /** The folder belongs to the pod: the agent may change how it shares mounts with the node. */
  readonly isOfPod?: boolean;
  /** The mount where the runtime mounts something other than a folder. `image`: the runtime's id of the image that it mounts. */
  mount?(volume: PodVolume, plan: MountPlan, image: string): Mount;
  /** Called when nothing below the pod's folder is mounted any more, before the rest of its volumes is removed. */
  tearDown?(paths: PodPaths): Promise<void>;
}
