/** Whether a volume of a CSI driver is attached to the node: a controller attaches it, and tells the Node object. */
import type { Rejection } from '../admission/rejection.ts';
import { driverWords } from '../formats/terminal-text.ts';
import { StateletError } from '../../../types/errors.ts';
import type { CSIDriver, Node, VolumeAttachment } from '../../../types/kubernetes.ts';
import { allocatablePeriodMs } from './csi-registration.ts';

/** The code of gRPC with which a driver says so. */
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
  /** As the Node object was seen last, which may be what it said of an earlier attachment. */
  seen(name: string): AttachReport;
  /** As the API server has it now. Nothing that this agent has told before is still on its way. */
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

/** Whether it says that the volume is attached. Throws where waiting cannot help. */
export function isAttached({ metadata, status }: VolumeAttachment): boolean {
  if (metadata?.deletionTimestamp !== undefined)
    throw new StateletError('FailedPrecondition', 'volume attachment is being deleted');
  if (status?.attached === true) return true;
  if (status?.attachError === undefined) return false;
  const { message = 'the volume could not be attached' } = status.attachError;
  throw new StateletError('FailedPrecondition', driverWords(message));
}

/** Whether the driver has said that the node can have no more of its volumes. As with the kubelet, only drivers count that tell how many it can have. */
export function exceedsLimit(
  attachment: VolumeAttachment | undefined,
  object: CSIDriver | undefined,
): boolean {
  return (
    allocatablePeriodMs(object) !== undefined &&
    attachment?.status?.attachError?.errorCode === RESOURCE_EXHAUSTED
  );
}

/** Of a pod for whose volumes the node has no room; all volumes by their names in the pod. */
export function limitRejection(unmounted: readonly string[], unattached: readonly string[]): Rejection {
  const lists = `unmounted volumes=[${unmounted.join(' ')}], unattached volumes=[${unattached.join(' ')}], failed to process volumes=[]`;
  return {
    reason: 'VolumeAttachmentLimitExceeded',
    message: `Node has reached its volume attachment limit, rejecting pod. ${lists}: context deadline exceeded`,
  };
}
