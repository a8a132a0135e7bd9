/** A request for the log of a container: what it means, and which instance of the container has the log. */
import type { ContainerStatus, Pod, PodStatus } from '../../../types/kubernetes.ts';
import { goQuote } from '../formats/go-text.ts';
import { hasContainer } from './running-pods.ts';
import { isRefusal, podLogOptions, type PodLogOptions, type Refusal, streamRefusal } from './log-options.ts';

export interface ContainerLogRequest {
  readonly podName: string;
  readonly container: string;
  /** Without its `?`. */
  readonly query: string;
}

export interface UnderstoodLogRequest<P> {
  readonly served: P;
  readonly options: PodLogOptions;
}

/** What a request for a log means, or the kubelet's answer to one that cannot be served. `served`: undefined if no pod has that name. */
export function containerLogRequest<P extends { readonly pod: Pod }>(
  served: P | undefined,
  { podName, container, query }: ContainerLogRequest,
): UnderstoodLogRequest<P> | Refusal {
  const options = podLogOptions(query);
  if (isRefusal(options)) return options;
  if (!served) return { status: 404, message: `pod ${goQuote(podName)} does not exist` };
  if (!hasContainer(served.pod, container)) {
    return { status: 404, message: `container ${goQuote(container)} not found in pod ${goQuote(podName)}` };
  }
  return streamRefusal(options) ?? { served, options };
}

export interface LogRequest {
  readonly podName: string;
  readonly container: string;
  readonly previous: boolean;
}

/** As the status has it: `containerd://ID`. Or why there is no log, in the kubelet's words. */
export type LoggedInstance = { readonly containerId: string } | { readonly problem: string };

const WAITING: Readonly<Record<string, string>> = {
  ErrImagePull: "image can't be pulled",
  ImagePullBackOff: 'trying and failing to pull image',
};

/** The running instance; else the one that ended last. */
export function loggedInstance(status: Partial<PodStatus>, request: LogRequest): LoggedInstance {
  const name = `container ${goQuote(request.container)} in pod ${goQuote(request.podName)}`;
  const container = statusOf(status, request.container);
  if (!container) return { problem: `${name} is not available` };
  const { running, terminated, waiting } = container.state ?? {};
  const last = container.lastState?.terminated;
  if (request.previous)
    return instance(last?.containerID) ?? { problem: `previous terminated ${name} not found` };
  if (running) return { containerId: container.containerID ?? '' };
  if (terminated ?? last) {
    // Where the next instance did not start, its status has no id.
    const found = instance(terminated?.containerID) ?? instance(last?.containerID);
    return found ?? { problem: `${name} is terminated` };
  }
  if (!waiting) return { problem: `${name} is waiting to start - no logs yet` };
  const reason = waiting.reason ?? '';
  return { problem: `${name} is waiting to start: ${WAITING[reason] ?? reason}` };
}

/** The runtime's own id: `ID` of `containerd://ID`. Empty where the status has none. */
export function runtimeId(containerId: string): string {
  return containerId.split('://')[1] ?? '';
}

function statusOf(status: Partial<PodStatus>, name: string): ContainerStatus | undefined {
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = status;
  const all = [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses];
  return all.find((container) => container.name === name);
}

function instance(containerId: string | undefined): LoggedInstance | undefined {
  return containerId === undefined || containerId === '' ? undefined : { containerId };
}
