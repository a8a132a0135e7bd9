import type { RuntimeService } from '../../../src/agent/runtime/service/runtime-service.ts';
import type { Daemon, DaemonBed } from '../daemon.ts';
import type { RuntimeTap } from '../runtime-tap.ts';
import type { PodSurroundings } from './pods.ts';
import type { Witness } from './witness.ts';

/** A runtime with a tap, and a folder of manifests for daemons that are killed. */
export interface Stage {
  readonly bed: DaemonBed;
  readonly surroundings: PodSurroundings;
  readonly tap: RuntimeTap;
  /** The runtime itself, without the tap. */
  readonly runtime: RuntimeService;
  readonly witness: Witness;
  /** Starts a daemon on the manifests, whose calls pass the tap. Does not wait. */
  launch(): Daemon;
  /** What pods have on the node: records, folders, mounts, cgroups, processes. */
  leftovers(): Promise<readonly string[]>;
  close(): Promise<void>;
}
