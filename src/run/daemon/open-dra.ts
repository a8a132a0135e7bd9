/** Puts together what a node needs of DRA drivers. Loaded only in a cluster, with a runtime of CRI. */
import type { AgentCore } from '../../agent/actors/cluster/cluster-parts.ts';
import { DraDrivers } from '../../agent/actors/dra/dra-drivers.ts';
import type { NodeDra } from '../../agent/actors/dra/node-dra.ts';
import { ResourceClaims } from '../../agent/actors/dra/resource-claims.ts';
import { ResourceSlices } from '../../agent/cluster/objects/resource-slices.ts';
import type { DraNode } from '../../agent/runtime/dra/dra-node.ts';
import type { Cluster } from './join-cluster.ts';

export interface DraDeps {
  readonly dra: DraNode;
  readonly cluster: Pick<Cluster, 'api'>;
  readonly nodeName: string;
}

export function openDra(core: AgentCore, { dra, cluster, nodeName }: DraDeps): NodeDra {
  const claims = new ResourceClaims(core, dra);
  const slices = new ResourceSlices(cluster.api, nodeName);
  const drivers = new DraDrivers(core, {
    dra,
    removeSlices: (driver, signal) => slices.remove(driver, signal),
  });
  return {
    handlers: drivers.handlers,
    start: () => drivers.start(),
    beginStop: () => drivers.beginStop(),
    stop: () => {
      claims.stop();
      drivers.stop();
    },
  };
}
