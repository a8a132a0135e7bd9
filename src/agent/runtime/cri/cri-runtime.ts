import { cgroupDriverIn } from '../../policies/cri/cgroup-driver-mismatch.ts';
import type { Method } from '../../../system/grpc/method.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { RuntimeCondition, RuntimeCgroupDriver } from '../../../types/cri.ts';
import { errorKind, StateletError } from '../../../types/errors.ts';
import type { CallOptions, RuntimeService } from '../service/runtime-service.ts';
import type { Streaming, StreamingRuntime } from '../service/streaming-runtime.ts';
import { CallContext } from './calls/call-context.ts';
import { notDone, notForwarded } from './calls/call-corrections.ts';
import { Channel } from './calls/channel.ts';
import { containerCalls, resizingCalls, runningContainerCalls } from './calls/container-calls.ts';
import { imageCalls } from './calls/image-calls.ts';
import { sandboxCalls } from './calls/sandbox-calls.ts';
import { RuntimeEvents } from './events/runtime-events.ts';
import type { WireRuntimeCondition } from './messages/image-messages.ts';
import { ATTACH, EXEC, PORT_FORWARD, RUNTIME_CONFIG, STATUS, VERSION } from './messages/methods.ts';

export interface CriRuntimeOptions {
  /** `unix:///path` of the runtime's socket. */
  readonly endpoint: string;
  /** The endpoint of the image service, if it is another one. */
  readonly imageEndpoint?: string;
  /** How long a call may take (the kubelet's runtimeRequestTimeout). */
  readonly requestTimeoutMs: number;
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
export function createCriRuntime(context: AgentContext, options: CriRuntimeOptions): RuntimeService {
  const { endpoint, imageEndpoint = endpoint, requestTimeoutMs } = options;
  const channel = new Channel(endpoint);
  const imageChannel = imageEndpoint === endpoint ? channel : new Channel(imageEndpoint);
  const closed = new AbortController();
  const calls = new CallContext(channel, requestTimeoutMs);
  const sandboxes = sandboxCalls(calls);
  const containers = containerCalls(calls);
  const { events } = new RuntimeEvents(context, {
    channel,
    calls,
    closed: closed.signal,
    listPodSandbox: sandboxes.listPodSandbox,
    listContainers: containers.listContainers,
  });
  return {
    version: (callOptions) => calls.call(VERSION, {}, callOptions),
    status: runtimeStatus(calls),
    ...sandboxes,
    ...containers,
    ...runningContainerCalls(calls, containers.listContainers),
    ...imageCalls(imageChannel, requestTimeoutMs),
    streaming: streamingCalls(calls),
    resizing: resizingCalls(calls),
    containerEvents: () => events,
    close: () => {
      closed.abort();
      channel.close();
      imageChannel.close();
      return Promise.resolve();
    },
  };
}

/** The runtime's status, and its cgroup driver if that is asked for. */
export function runtimeStatus(context: CallContext): RuntimeService['status'] {
  return async ({ asksCgroupDriver = false, ...options } = {}) => {
    const { status, handlers, features } = await context.call(STATUS, {}, options);
    const driver = asksCgroupDriver ? await cgroupDriver(context, options) : undefined;
    return {
      cgroupDriver: driver,
      conditions: (status?.conditions ?? []).filter(isRequired),
      handlers,
      supplementalGroupsPolicy: features?.supplementalGroupsPolicy,
    };
  };
}

/** Undefined where it is not known. containerd reports it since 2.0, CRI-O since 1.28. */
async function cgroupDriver(
  context: CallContext,
  options: CallOptions,
): Promise<RuntimeCgroupDriver | undefined> {
  try {
    const { linux } = await context.call(RUNTIME_CONFIG, {}, options);
    return linux && { name: linux.cgroupDriver === 'SYSTEMD' ? 'systemd' : 'cgroupfs', isReported: true };
  } catch (error) {
    if (errorKind(error) !== 'Unimplemented') throw error;
  }
  const { info } = await context.call(STATUS, { verbose: true }, options);
  const name = cgroupDriverIn(info?.config ?? '');
  return name && { name, isReported: false };
}

/** Runtimes may add other conditions; these say nothing about whether pods can run. */
function isRequired(condition: WireRuntimeCondition): condition is RuntimeCondition {
  return condition.type === 'RuntimeReady' || condition.type === 'NetworkReady';
}

/** The calls that are answered with a URL of the runtime's streaming server. */
export function streamingCalls(context: CallContext): StreamingRuntime {
  const { states } = context;

  const ask = async <Q>(
    method: Method<Q, { readonly url: string }>,
    request: Q,
    correct: (error: unknown) => Promise<unknown>,
    options?: CallOptions,
  ): Promise<Streaming<never>> => {
    const { url } = await context.corrected(context.call(method, request, options), correct);
    return { url: parseUrl(method.name, url) };
  };

  return {
    exec: (request, options) =>
      ask(EXEC, request, (error) => notDone(error, request.containerId, states), options),
    attach: (request, options) =>
      ask(ATTACH, request, (error) => notDone(error, request.containerId, states), options),
    portForward: (request, options) =>
      ask(PORT_FORWARD, request, (error) => notForwarded(error, request.podSandboxId, states), options),
  };
}

/** Throws a StateletError without the text that is no URL: it may hold a token, and who has the token may use the stream. */
function parseUrl(call: string, text: string): URL {
  if (text === '') throw new StateletError('Internal', `${call}: URL is not set`);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new StateletError(
    'Internal',
    `the container runtime answered ${call} with something that is not an http or https URL with a host`,
  );
}
