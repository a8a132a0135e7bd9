/** The part of a simulated agent for ResourceClaims: the production code, with a simulated driver. */
import type { AgentCore } from '../../agent/actors/cluster/cluster-parts.ts';
import type { NodeDra } from '../../agent/actors/dra/node-dra.ts';
import { openDra } from '../../agent/actors/dra/open-dra.ts';
import type { ServerObjects } from '../../agent/cluster/objects/server-objects.ts';
import type { ApiServer } from '../../agent/cluster/service/api-server.ts';
import { claimSubsystem } from '../../agent/runtime/dra/claim-subsystem.ts';
import { claimsFile } from '../../agent/runtime/dra/claims-file.ts';
import { DraNode } from '../../agent/runtime/dra/dra-node.ts';
import type { PodSubsystem } from '../../agent/runtime/node/pod-node.ts';
import type { Dial } from '../../system/grpc/grpc-client.ts';
import type { StoredText } from '../../system/newest-file.ts';
import type { AgentContext } from '../../types/agent-context.ts';
import type { DriverFolder } from '../drivers/driver-folder.ts';

export interface AgentDraOptions {
  readonly file: StoredText;
  readonly folder: DriverFolder;
  readonly api: ApiServer;
  readonly nodeName: string;
  readonly objects: ServerObjects;
}

export interface AgentDra {
  readonly node: DraNode;
  readonly subsystem: PodSubsystem;
  readonly open: (core: AgentCore) => NodeDra;
}

export function agentDra(context: AgentContext, options: AgentDraOptions): AgentDra {
  const { file, folder, api, nodeName, objects } = options;
  const dial: Dial = (_, socket) => folder.connect(socket, context.clock);
  const node = new DraNode(context, { objects, file: claimsFile(file) });
  return {
    node,
    subsystem: claimSubsystem(node),
    open: (core) => openDra(core, { dra: node, api, nodeName, dial }),
  };
}
