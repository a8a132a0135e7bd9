import { StateletError } from '../../types/errors.ts';
import type { CallOptions } from '../service/runtime-service.ts';
import type { CommandStreams, StreamingRuntime, StreamSelection } from '../service/streaming-runtime.ts';
import type { RuntimeLayout } from './layout.ts';
import type { MonitorClient } from './monitor/monitor-client.ts';
import { runStreams } from './streams/command-streams.ts';
import { LoopbackForwarder } from './streams/port-forwarder.ts';

const tooOld = (): StateletError =>
  new StateletError(
    'FailedPrecondition',
    'the monitor of the embedded runtime does not know exec and attach with streams: an older version of statelet started ' +
      'it. It is followed by one of this version once all pods have been removed',
  );

const noStream = (): StateletError =>
  new StateletError('InvalidArgument', 'one of stdin, stdout and stderr has to be asked for');

/** Exec, attach and port-forward of the embedded runtime. A terminal has no stderr of its own. */
export function processStreaming(client: MonitorClient, layout: RuntimeLayout): StreamingRuntime {
  const start = async (
    containerId: string,
    selection: StreamSelection & { readonly command?: readonly string[] },
    options?: CallOptions,
  ): Promise<{ streams: CommandStreams }> => {
    const { command, stdin, stdout, stderr, tty } = selection;
    if (!stdin && !stdout && !stderr) throw noStream();
    if (!(await client.has('streams'))) throw tooOld();
    const request = { stdin, stdout, stderr: stderr && !tty, tty, ...(command && { command }) };
    const opened = await client.call('openStreams', [containerId, request], options);
    return { streams: runStreams(client, layout, opened, request) };
  };
  return {
    exec: ({ containerId, ...request }, options) => start(containerId, request, options),
    attach: ({ containerId, stdin, stdout, stderr, tty }, options) =>
      start(containerId, { stdin, stdout, stderr, tty }, options),
    portForward: async ({ podSandboxId }, options) => {
      const { state } = await client.call('podSandboxStatus', [podSandboxId], options);
      if (state === 'SANDBOX_READY') return { streams: new LoopbackForwarder() };
      throw new StateletError('FailedPrecondition', `pod sandbox ${podSandboxId} is not ready`);
    },
  };
}
