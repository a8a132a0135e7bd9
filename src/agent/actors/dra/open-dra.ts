/** Makes the parts for DRA drivers. Loaded only in a cluster, with a runtime of CRI. */
import { ResourceSlices } from '../../cluster/objects/resource-slices.ts';
import type { ApiServer } from '../../cluster/service/api-server.ts';
import type { DraNode } from '../../runtime/dra/dra-node.ts';
import type { Dial } from '../../../system/grpc/grpc-client.ts';
import type { AgentCore } from '../cluster/cluster-parts.ts';
import { DraDrivers } from './dra-drivers.ts';
import type { NodeDra } from './node-dra.ts';
import { ResourceClaims } from './resource-claims.ts';

export interface DraDeps {
  readonly dra: DraNode;
  readonly api: ApiServer;
  readonly nodeName: string;
  /** Default: the sockets of drivers. */
  readonly dial?: Dial;
}

export function openDra(core: AgentCore, { dra, api, nodeName, dial }: DraDeps): NodeDra {
  const claims = new ResourceClaims(core, dra);
  const drivers = new DraDrivers(core, { dra, dial, slices: new ResourceSlices(api, nodeName) });
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
