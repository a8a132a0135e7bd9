import type { CsiJudge } from '../judges/csi-judge.ts';
import type { DraJudge } from '../judges/dra-judge.ts';
import type { SlicesJudge } from '../judges/slices-judge.ts';
import type { StateFiles } from '../placement/state-files.ts';
import type { AttachController } from './attach-controller.ts';
import type { CsiPlan } from './csi-plan.ts';
import type { DraPlan } from './dra-plan.ts';
import type { DriverFolder } from './driver-folder.ts';
import type { SimulatedVolumeDisk } from './simulated-volume-disk.ts';

/** The drivers of a simulated node, and what they have done for pods: all of that outlives its agents. */
export interface HostDrivers {
  readonly folder: DriverFolder;
  /** Undefined for a node without drivers of the kind. */
  readonly csi:
    | {
        readonly plan: CsiPlan;
        readonly disk: SimulatedVolumeDisk;
        readonly controller: AttachController;
        readonly judge: CsiJudge;
      }
    | undefined;
  readonly dra:
    | {
        readonly plan: DraPlan;
        readonly files: StateFiles;
        readonly judge: DraJudge;
        readonly slices: SlicesJudge;
      }
    | undefined;
}
