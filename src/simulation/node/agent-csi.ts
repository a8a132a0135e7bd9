/** The part of a simulated agent for volumes of CSI drivers: the production code, on a simulated disk, with simulated drivers. */
import type { AgentCore } from '../../agent/actors/cluster/cluster-parts.ts';
import { type CsiDeps, openCsi } from '../../agent/actors/volumes/open-csi.ts';
import type { NodeCsi } from '../../agent/actors/volumes/node-csi.ts';
import type { ServerObjects } from '../../agent/cluster/objects/server-objects.ts';
import { ClaimFigures } from '../../agent/runtime/stats/disks/claim-figures.ts';
import { podOfUID } from '../../agent/runtime/node/compose-node.ts';
import { type PodSubsystem, PrepareError } from '../../agent/runtime/node/pod-node.ts';
import { ClaimedVolumes } from '../../agent/runtime/volumes/claimed-volumes.ts';
import { CsiNode } from '../../agent/runtime/volumes/csi/csi-node.ts';
import { VolumeManager } from '../../agent/runtime/volumes/volume-manager.ts';
import type { Dial } from '../../system/grpc/grpc-client.ts';
import type { AgentContext } from '../../types/agent-context.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { Volume } from '../../agent/policies/volumes/volume-source.ts';
import type { DriverFolder } from '../drivers/driver-folder.ts';
import { SIMULATED_ROOT } from '../drivers/open-host-drivers.ts';
import type { SimulatedVolumeDisk } from '../drivers/simulated-volume-disk.ts';

export interface AgentCsiOptions {
  readonly disk: SimulatedVolumeDisk;
  readonly folder: DriverFolder;
  readonly cluster: CsiDeps['cluster'];
  readonly nodeName: string;
  readonly objects: ServerObjects;
  readonly isAlive: () => boolean;
  /** Whether a driver sets the volume up. Undefined: it does so for all volumes of `csi` and of claims. */
  readonly isOfDriver?: ((pod: Pod, volume: Volume) => Promise<boolean>) | undefined;
}

export interface AgentCsi {
  readonly node: CsiNode;
  readonly subsystem: PodSubsystem;
  readonly open: (core: AgentCore) => NodeCsi;
  /** What the drivers say of volumes with claims. */
  readonly figures: (podOf: (uid: string) => Pod | undefined) => ClaimFigures;
}

export function agentCsi(context: AgentContext, options: AgentCsiOptions): AgentCsi {
  const { disk: ofHost, nodeName, objects, isAlive, isOfDriver } = options;
  const disk = ofHost.forAgent(isAlive);
  const node = new CsiNode(context, { rootDir: SIMULATED_ROOT, nodeName, objects, storage: objects, disk });
  const nodeLabels = () => options.cluster.ownNode()?.metadata.labels ?? {};
  const claims = new ClaimedVolumes({ objects, nodeLabels, disk });
  const volumes = new VolumeManager(context, {
    rootDir: SIMULATED_ROOT,
    allocatable: {},
    clusterDomain: '',
    givesDevices: true,
    csi: node,
    claims,
    disk,
  });
  const { folder, cluster } = options;
  const dial: Dial = (_, socket) => folder.connect(socket, context.clock);
  return {
    node,
    subsystem: subsystemOf(volumes, isOfDriver),
    open: (core) => openCsi(core, { csi: node, cluster, nodeName, dial }),
    figures: (podOf) =>
      new ClaimFigures(context, {
        podsDir: `${SIMULATED_ROOT}/pods`,
        podOf,
        disk,
        csiFigures: (volume, path) => node.stats.of(volume, path),
      }),
  };
}

function subsystemOf(volumes: VolumeManager, isOfDriver: AgentCsiOptions['isOfDriver']): PodSubsystem {
  return {
    name: 'CSI volumes',
    prepare: async (pod, signal) => {
      const own = isOfDriver ? await withVolumes(pod, isOfDriver) : withCsiAlone(pod);
      if (own.spec.volumes?.length === 0) return;
      await volumes.mountPod(own, signal).catch((error: unknown) => {
        throw new PrepareError('FailedMount', error, true);
      });
    },
    release: (uid) => volumes.releaseVolumes(uid),
    remove: ({ uid }) => volumes.unmountPod(uid),
    podsOnDisk: async () => (await volumes.podsOnDisk()).map(podOfUID),
  };
}

/** Other volumes are simulated elsewhere. */
function withCsiAlone(pod: Pod): Pod {
  const volumes = (pod.spec.volumes ?? []).filter(
    ({ csi, persistentVolumeClaim }) => csi !== undefined || persistentVolumeClaim !== undefined,
  );
  return { ...pod, spec: { ...pod.spec, volumes } };
}

async function withVolumes(pod: Pod, isOfDriver: NonNullable<AgentCsiOptions['isOfDriver']>): Promise<Pod> {
  const { volumes: all = [] } = pod.spec;
  const are = await Promise.all(all.map((volume) => isOfDriver(pod, volume)));
  return { ...pod, spec: { ...pod.spec, volumes: all.filter((_, index) => are[index]) } };
}
