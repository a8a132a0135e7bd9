import type { PlacementJudge } from '../judges/placement-judge.ts';
import type { PlacementPlan } from './placement-plan.ts';
import type { StateFiles } from './state-files.ts';

/** The CPUs and the memory of a simulated node that are kept for containers: they outlive its agents. */
export interface HostPlacement {
  readonly plan: PlacementPlan;
  readonly files: StateFiles;
  readonly judge: PlacementJudge;
}
