/** A pod at the socket of a root folder whose runtime hands its streams to the test. */
import { PassThrough, type Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { RuntimeService } from '../../src/agent/runtime/service/runtime-service.ts';
import type {
  CommandStreams,
  ExecRequest,
  PortForwarder,
  TerminalSize,
} from '../../src/agent/runtime/service/streaming-runtime.ts';
import { streamingRoutes } from '../../src/agent/server/streaming/streaming-routes.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import { type OwnerSocket, ownerSocket } from './owner-socket.ts';

/** A command in the container, as the runtime sees it. */
export interface StartedCommand {
  readonly request: ExecRequest;
  readonly stdin: PassThrough;
  readonly stdout: PassThrough;
  readonly stderr: PassThrough;
  readonly sizes: TerminalSize[];
  readonly exit: PromiseWithResolvers<number>;
  isAbandoned: boolean;
}

export interface StreamingPod extends OwnerSocket {
  readonly commands: readonly StartedCommand[];
}

export async function streamingPod(
  pod: Pod,
  behave: { readonly command?: (command: StartedCommand) => void; readonly forwarder?: PortForwarder } = {},
): Promise<StreamingPod> {
  const commands: StartedCommand[] = [];
  const start = (request: ExecRequest): Promise<{ streams: CommandStreams }> => {
    const command: StartedCommand = {
      request,
      stdin: new PassThrough(),
      stdout: new PassThrough(),
      stderr: new PassThrough(),
      sizes: [],
      exit: Promise.withResolvers<number>(),
      isAbandoned: false,
    };
    commands.push(command);
    behave.command?.(command);
    const { stdin, stdout, stderr } = command;
    const streams = {
      stdin: request.stdin ? stdin : undefined,
      stdout: request.stdout ? stdout : undefined,
      stderr: request.stderr ? stderr : undefined,
      resize: (size: TerminalSize) => void command.sizes.push(size),
      exit: command.exit.promise,
      abandon: () => {
        command.isAbandoned = true;
      },
    };
    return Promise.resolve({ streams });
  };
  const { forwarder } = behave;
  const runtime = {
    listContainers: () => Promise.resolve([{ id: 'c-1', createdAt: 1 }]),
    listPodSandbox: () => Promise.resolve([{ id: 's-1', createdAt: 1 }]),
    streaming: {
      exec: start,
      attach: (request: Omit<ExecRequest, 'command'>) => start({ ...request, command: [] }),
      portForward: () => Promise.resolve({ streams: forwarder }),
    },
  } as unknown as RuntimeService;
  const { namespace, name } = pod.metadata;
  const found = (ns: string, own: string) =>
    ns === namespace && own === name ? { pod, state: 'Syncing.Settled' } : undefined;
  const socket = await ownerSocket(streamingRoutes({ pod: found, runtime, streamingIdleMs: 0 }), [pod]);
  return { ...socket, commands };
}

/** The streams of a process that is no terminal; `output` and `errors` are what has been written when they have ended. */
export function plainStreams() {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const collected = { output: text(stdout), errors: text(stderr) };
  return {
    own: { stdin, stdout, stderr } as unknown as {
      readonly stdin: NodeJS.ReadStream;
      readonly stdout: NodeJS.WriteStream;
      readonly stderr: NodeJS.WriteStream;
    },
    stdin: stdin as Writable,
    result: async (): Promise<{ output: string; errors: string }> => {
      stdout.end();
      stderr.end();
      return { output: await collected.output, errors: await collected.errors };
    },
  };
}
