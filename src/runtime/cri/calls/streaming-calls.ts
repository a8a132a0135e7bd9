import { StateletError } from '../../../types/errors.ts';
import type { CallOptions } from '../../service/runtime-service.ts';
import type { Streaming, StreamingRuntime } from '../../service/streaming-runtime.ts';
import type { CallContext } from './call-context.ts';
import { notDone, notForwarded } from './call-corrections.ts';
import type { Method } from '../../../system/grpc/method.ts';
import { ATTACH, EXEC, PORT_FORWARD } from '../messages/methods.ts';

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
