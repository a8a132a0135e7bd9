/** What all hollow nodes of a process share. */
import type { ApiClients } from '../../agent/cluster/service/api-server.ts';
import type { Logger } from '../../types/logger.ts';
import type { SharedAccess } from '../cluster/node-client.ts';
import type { HollowPlan } from '../plan/hollow-plan.ts';
import type { VolumesOf } from './hollow-drivers.ts';

export interface Fleet extends SharedAccess {
  readonly plan: HollowPlan;
  readonly logger: Logger;
  /** One connection for all. */
  readonly clients: ApiClients;
  /** Where the server of all nodes listens, at a port for each. */
  readonly address: string;
  /** By the name of the node. */
  readonly ports: ReadonlyMap<string, number>;
  readonly volumesOf: VolumesOf;
  /** Of the process. */
  readonly rootDir: string;
}
