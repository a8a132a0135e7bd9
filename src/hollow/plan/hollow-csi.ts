/** The CSI drivers of hollow nodes, as a plan describes them. */
import type { Range } from '../../simulation/runtime/chance.ts';
import type { PlanField } from './plan-field.ts';

/** By the names of CSI. Of the controller's calls only those that attach and expand volumes. */
const CALLS = [
  'NodeStageVolume',
  'NodePublishVolume',
  'NodeUnpublishVolume',
  'NodeUnstageVolume',
  'NodeExpandVolume',
  'NodeGetVolumeStats',
  'ControllerPublishVolume',
  'ControllerExpandVolume',
] as const;

export interface HollowCsiDriver {
  readonly name: string;
  readonly isStaging: boolean;
  /** What a node can have of its volumes. Undefined: no limit. */
  readonly maxVolumes: number | undefined;
  /** Labels of the nodes on which its volumes can be used. */
  readonly topology: Readonly<Record<string, string>> | undefined;
  readonly calls: Readonly<Record<(typeof CALLS)[number], Range>>;
  /** The share of these calls that fail, from 0 to 1. */
  readonly callFailures: number;
  /** This process attaches its volumes. Else an external-attacher of the cluster does. */
  readonly isAttaching: boolean;
  /** This process expands its volumes. Else an external-resizer of the cluster does. */
  readonly isResizing: boolean;
}

const DEFAULT_CALLS: HollowCsiDriver['calls'] = {
  NodeStageVolume: [200, 1_000],
  NodePublishVolume: [20, 100],
  NodeUnpublishVolume: [20, 100],
  NodeUnstageVolume: [50, 300],
  NodeExpandVolume: [100, 500],
  NodeGetVolumeStats: [1, 5],
  ControllerPublishVolume: [1_000, 3_000],
  ControllerExpandVolume: [1_000, 3_000],
};
const MAX_VOLUMES = 2 ** 31 - 1;

export function csiDriversOf(field: PlanField): readonly HollowCsiDriver[] {
  return field.named('driver').map(({ name, field: driver }) => {
    const known = [
      'name',
      'staging',
      'maxVolumes',
      'topology',
      'calls',
      'callFailures',
      'attacher',
      'resizer',
    ];
    const { fields } = driver.members(known);
    return {
      name,
      isStaging: fields.staging?.flag() ?? true,
      maxVolumes: fields.maxVolumes?.wholeNumber(MAX_VOLUMES),
      topology: fields.topology?.texts(),
      calls: { ...DEFAULT_CALLS, ...fields.calls?.latencies(CALLS) },
      callFailures: fields.callFailures?.share() ?? 0,
      isAttaching: fields.attacher?.flag() ?? true,
      isResizing: fields.resizer?.flag() ?? true,
    };
  });
}
