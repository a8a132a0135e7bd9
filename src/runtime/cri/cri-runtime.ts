import type { RuntimeService } from '../service/runtime-service.ts';
import { CallContext } from './calls/call-context.ts';
import { Channel } from './calls/channel.ts';
import { containerCalls } from './calls/container-calls.ts';
import { runningContainerCalls } from './calls/running-container-calls.ts';
import { imageCalls } from './calls/image-calls.ts';
import { VERSION } from './messages/methods.ts';
import type { EventMeasurements } from './events/event-feed.ts';
import { RuntimeEvents } from './events/runtime-events.ts';
import { runtimeStatus } from './calls/runtime-status.ts';
import { sandboxCalls } from './calls/sandbox-calls.ts';
import { streamingCalls } from './calls/streaming-calls.ts';

export interface CriRuntimeOptions {
  /** `unix:///path` of the runtime's socket. */
  readonly endpoint: string;
  /** The endpoint of the image service, if it is another one. */
  readonly imageEndpoint?: string;
  /** How long a call may take (the kubelet's runtimeRequestTimeout). */
  readonly requestTimeoutMs: number;
  readonly logger: { warn(message: string): void };
  readonly measurements?: EventMeasurements;
}

/**
 * A container runtime that speaks CRI v1.
 *
 * - Time limit of a call: `requestTimeoutMs`. RunPodSandbox has twice as much. StopContainer, and ExecSync with a timeout, have
 *   their timeout in addition. ExecSync without a timeout and PullImage have no limit.
 * - While the runtime is down, calls reject at once with kind `Unavailable`. The connection comes back by itself.
 * - `containerEvents()` listens to CRI's GetContainerEvents, or else to containerd's own events on the same socket. If the
 *   runtime has neither, it warns once and completes. It never errors.
 */
export function createCriRuntime(options: CriRuntimeOptions): RuntimeService {
  const { endpoint, imageEndpoint = endpoint, requestTimeoutMs, logger, measurements } = options;
  const channel = new Channel(endpoint);
  const imageChannel = imageEndpoint === endpoint ? channel : new Channel(imageEndpoint);
  const closed = new AbortController();
  const context = new CallContext(channel, requestTimeoutMs);
  const sandboxes = sandboxCalls(context);
  const containers = containerCalls(context);
  const { events } = new RuntimeEvents({
    channel,
    context,
    closed: closed.signal,
    listPodSandbox: sandboxes.listPodSandbox,
    listContainers: containers.listContainers,
    warn: (message) => logger.warn(message),
    ...(measurements && { measurements }),
  });
  return {
    version: (callOptions) => context.call(VERSION, {}, callOptions),
    status: runtimeStatus(context),
    ...sandboxes,
    ...containers,
    ...runningContainerCalls(context, containers.listContainers),
    ...imageCalls(imageChannel, requestTimeoutMs),
    streaming: streamingCalls(context),
    containerEvents: () => events,
    close: () => {
      closed.abort();
      channel.close();
      imageChannel.close();
      return Promise.resolve();
    },
  };
}
