import type { RuntimeService } from '../../../src/runtime/service/runtime-service.ts';
import type { Daemon, DaemonBed } from '../daemon.ts';
import type { RuntimeTap } from '../runtime-tap.ts';
import type { PodSurroundings } from './pods.ts';
import type { Witness } from './witness.ts';

/** A runtime, what stands before it, and a folder of manifests for daemons that come and die. */
export interface Stage {
  readonly bed: DaemonBed;
  readonly surroundings: PodSurroundings;
  readonly tap: RuntimeTap;
  /** The runtime itself, not by way of the tap. */
  readonly runtime: RuntimeService;
  readonly witness: Witness;
  /** A daemon on the manifests, whose calls go by way of the tap. Waits for nothing. */
  launch(): Daemon;
  /** What is there of pods: records, folders, mounts, cgroups, processes. */
  leftovers(): Promise<readonly string[]>;
  close(): Promise<void>;
}
