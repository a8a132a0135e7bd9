/** Puts together what a node needs of CSI drivers. Loaded only in a cluster, with a runtime of CRI. */
import type { AgentCore } from '../../agent/actors/cluster/cluster-parts.ts';
import { CsiDrivers } from '../../agent/actors/volumes/csi-drivers.ts';
import { CsiVolumes } from '../../agent/actors/volumes/csi-volumes.ts';
import type { NodeCsi } from '../../agent/actors/volumes/node-csi.ts';
import { attachReport } from '../../agent/policies/volumes/csi-attachment.ts';
import { CsiNodeObjects } from '../../agent/cluster/objects/csi-node-objects.ts';
import type { CsiNode } from '../../agent/runtime/volumes/csi/csi-node.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { Cluster } from './join-cluster.ts';

export interface CsiDeps {
  readonly csi: CsiNode;
  readonly cluster: Pick<Cluster, 'api' | 'ownNode' | 'writtenNode'>;
  readonly nodeName: string;
}

export function openCsi(core: AgentCore, { csi, cluster, nodeName }: CsiDeps): NodeCsi {
  const volumes = new CsiVolumes(core, {
    csi,
    attachReports: {
      seen: (name) => attachReport(cluster.ownNode(), name),
      asked: async (name) => attachReport(await cluster.writtenNode(), name),
    },
    onChange: () => core.reportNow(),
  });
  const drivers = new CsiDrivers(core, {
    drivers: csi.drivers,
    onRegistered: (name) => {
      volumes.driverRegistered(name);
      core.sync([...volumes.podsOf(name), ...inlineUsers(core.registry, name)]);
      core.removeOrphans();
    },
    objects: new CsiNodeObjects(cluster.api, nodeName),
    csiDriver: (name) => csi.csiDriver(name),
  });
  drivers.start();
  return {
    podsKnown: () => volumes.podsKnown(),
    handlers: drivers.handlers,
    volumesInUse: () => volumes.inUse(),
    beginStop: () => drivers.stop(),
    stop: () => volumes.stop(),
  };
}

/** The pods with volumes of the driver in their own specs, also those that have ended. */
function inlineUsers(registry: AgentCore['registry'], driver: string): readonly string[] {
  const pods = Array.from(registry.entries(), ({ actor }) => actor.getSnapshot().context.pod);
  const uses = (pod: Pod) => pod.spec.volumes?.some(({ csi }) => csi?.driver === driver) === true;
  return pods.flatMap((pod) => (pod && uses(pod) ? pod.metadata.uid : []));
}
