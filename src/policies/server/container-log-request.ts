import { goQuote } from '../formats/go-text.ts';
import type { Pod } from '../../types/kubernetes.ts';
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

function hasContainer({ spec }: Pod, name: string): boolean {
  const { containers, initContainers = [], ephemeralContainers = [] } = spec;
  return [...containers, ...initContainers, ...ephemeralContainers].some(
    (container) => container.name === name,
  );
}
