/** The limit on termination messages, in bytes, as the API counts them. */
import type { ContainerState, ContainerStatus, Pod, PodStatus } from '../../types/kubernetes.ts';

/** For all containers of a pod together. */
const TOTAL_BYTES_MAX = 12 * 1024;

/** Each container of a pod has an equal share of the limit, used or not. A longer message is cut to its share. */
export function withShortMessages({ spec }: Pod, status: PodStatus): PodStatus {
  const { containers, initContainers = [], ephemeralContainers = [] } = spec;
  const count = containers.length + initContainers.length + ephemeralContainers.length;
  const bytesMax = Math.floor(TOTAL_BYTES_MAX / Math.max(1, count));
  const { containerStatuses, initContainerStatuses, ephemeralContainerStatuses } = status;
  const cut = (statuses: readonly ContainerStatus[]) => statuses.map((one) => cutStatus(one, bytesMax));
  return {
    ...status,
    ...(initContainerStatuses && { initContainerStatuses: cut(initContainerStatuses) }),
    ...(containerStatuses && { containerStatuses: cut(containerStatuses) }),
    ...(ephemeralContainerStatuses && { ephemeralContainerStatuses: cut(ephemeralContainerStatuses) }),
  };
}

function cutStatus(status: ContainerStatus, bytesMax: number): ContainerStatus {
  const { state, lastState } = status;
  return {
    ...status,
    ...(state && { state: cutState(state, bytesMax) }),
    ...(lastState && { lastState: cutState(lastState, bytesMax) }),
  };
}

function cutState(state: ContainerState, bytesMax: number): ContainerState {
  const { terminated } = state;
  // A UTF-16 unit takes at most three bytes, so most messages need no encoding to be found short enough.
  if (!terminated?.message || terminated.message.length * 3 <= bytesMax) return state;
  const bytes = new TextEncoder().encode(terminated.message);
  if (bytes.length <= bytesMax) return state;
  const message = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, bytesMax));
  return { ...state, terminated: { ...terminated, message } };
}
