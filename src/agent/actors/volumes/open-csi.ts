/** Makes the parts for CSI drivers. Loaded only in a cluster, with a runtime of CRI. */
import type { AgentCore } from '../cluster/cluster-parts.ts';
import { CsiDrivers } from './csi-drivers.ts';
import { CsiVolumes } from './csi-volumes.ts';
import type { NodeCsi } from './node-csi.ts';
import { attachReport } from '../../policies/volumes/csi-attachment.ts';
import { CsiNodeObjects } from '../../cluster/objects/csi-node-objects.ts';
import type { CsiNode } from '../../runtime/volumes/csi/csi-node.ts';
import type { ApiServer } from '../../cluster/service/api-server.ts';
import type { Dial } from '../../../system/grpc/grpc-client.ts';
import type { Node, Pod } from '../../../types/kubernetes.ts';

export interface CsiDeps {
  readonly csi: CsiNode;
  readonly cluster: {
    readonly api: ApiServer;
    /** The Node object that the watch has last delivered. */
    ownNode(): Node | undefined;
    /** The Node object read from the API server, once the node's status is written. */
    writtenNode(): Promise<Node | undefined>;
  };
  readonly nodeName: string;
  /** Default: the sockets of drivers. */
  readonly dial?: Dial;
}

export function openCsi(core: AgentCore, { csi, cluster, nodeName, dial }: CsiDeps): NodeCsi {
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
    dial,
    onRegistered: (name) => {
      volumes.driverRegistered(name);
      core.sync([...volumes.podsOf(name), ...inlineUsers(core.registry, name)]);
      core.removeOrphans();
    },
    objects: new CsiNodeObjects(cluster.api, nodeName),
    csiDriver: (name) => csi.csiDriver(name),
  });
  csi.onLimit = (name) => drivers.refresh(name);
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
