import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { errorMessage, StateletError } from '../types/errors.ts';
import type { CallOptions } from '../agent/runtime/service/runtime-service.ts';
import type {
  CommandStreams,
  PortForwarder,
  StreamingRuntime,
  StreamSelection,
} from '../agent/runtime/service/streaming-runtime.ts';
import type { RuntimeLayout } from './layout.ts';
import type { MonitorClient } from './monitor/monitor-client.ts';
import { runStreams } from './streams/command-streams.ts';

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
    const request = { stdin, stdout, stderr: stderr && !tty, tty, command };
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

const HOSTS = ['127.0.0.1', '::1'] as const;

/** Connections to ports of this machine, where the pods of the embedded runtime listen. */
export class LoopbackForwarder implements PortForwarder {
  readonly #sockets = new Set<Socket>();
  #closed = false;

  async connect(port: number): Promise<Duplex> {
    const failures: string[] = [];
    for (const host of HOSTS) {
      if (this.#closed) throw new StateletError('Canceled', `port ${port} was given up`);
      try {
        return await this.#dial(host, port);
      } catch (error) {
        failures.push(errorMessage(error));
      }
    }
    const message = `failed to connect to port ${port} of this machine: ${failures.join(', ')}: does the pod listen there?`;
    throw new StateletError('Unavailable', message);
  }

  close(): void {
    this.#closed = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  #dial(host: string, port: number): Promise<Socket> {
    // Each side may end its direction before the other one.
    const socket = connect({ host, port, allowHalfOpen: true, noDelay: true });
    this.#sockets.add(socket);
    // An error is followed by close, which ends the other side of the connection.
    socket.on('error', () => undefined);
    socket.once('close', () => this.#sockets.delete(socket));
    return new Promise((resolve, reject) => {
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(socket);
      });
      socket.once('error', reject);
      socket.once('close', () => reject(new StateletError('Canceled', `port ${port} was given up`)));
    });
  }
}
