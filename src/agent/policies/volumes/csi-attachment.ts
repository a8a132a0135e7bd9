/** Whether a volume of a CSI driver is attached to the node. A controller attaches it, and writes that into the Node object. */
import type { Rejection } from '../admission/rejection.ts';
import { driverWords } from '../formats/terminal-text.ts';
import { StateletError } from '../../../types/errors.ts';
import type { CSIDriver, Node, VolumeAttachment } from '../../../types/kubernetes.ts';
import { allocatablePeriodMs } from './csi-registration.ts';

/** The gRPC code by which a driver says that the node can have no more volumes. */
const RESOURCE_EXHAUSTED = 8;

/** What the Node object says of a volume. */
export interface AttachReport {
  /** The controller must not detach it. */
  readonly isInUse: boolean;
  /** The controller has attached it, and is not about to detach it. */
  readonly isAttached: boolean;
}

/** By the volume's name in the API. */
export interface AttachReports {
  /** From the Node object that the watch has last delivered, which may show an earlier attachment. */
  seen(name: string): AttachReport;
  /** Read from the API server now, when all earlier writes of this agent to the Node are done. */
  asked(name: string): Promise<AttachReport>;
}

/** `name`: the volume's name in the API. */
export function attachReport(node: Node | undefined, name: string): AttachReport {
  const { volumesInUse = [], volumesAttached = [] } = node?.status ?? {};
  return {
    isInUse: volumesInUse.includes(name),
    isAttached: volumesAttached.some((volume) => volume.name === name),
  };
}

/** Whether the VolumeAttachment says that the volume is attached. Throws if waiting cannot help. */
export function isAttached({ metadata, status }: VolumeAttachment): boolean {
  if (metadata?.deletionTimestamp !== undefined)
    throw new StateletError('FailedPrecondition', 'volume attachment is being deleted');
  if (status?.attached === true) return true;
  if (status?.attachError === undefined) return false;
  const { message = 'the volume could not be attached' } = status.attachError;
  throw new StateletError('FailedPrecondition', driverWords(message));
}

/**
 * Whether the driver has said that the node can have no more of its volumes. As with the kubelet, this counts only for drivers
 * that update their limit.
 */
export function exceedsLimit(
  attachment: VolumeAttachment | undefined,
  object: CSIDriver | undefined,
): boolean {
  return (
    allocatablePeriodMs(object) !== undefined &&
    attachment?.status?.attachError?.errorCode === RESOURCE_EXHAUSTED
  );
}

/** The rejection of a pod with too many volumes for the node. All volumes by their names in the pod. */
export function limitRejection(unmounted: readonly string[], unattached: readonly string[]): Rejection {
  const lists = `unmounted volumes=[${unmounted.join(' ')}], unattached volumes=[${unattached.join(' ')}], failed to process volumes=[]`;
  return {
    reason: 'VolumeAttachmentLimitExceeded',
    message: `Node has reached its volume attachment limit, rejecting pod. ${lists}: context deadline exceeded`,
  };
}
