import { errorKind, type ErrorKind, errorMessage, invalid, StateletError } from '../../types/errors.ts';
import type {
  Container,
  ContainerConfig,
  ContainerEvent,
  ContainerFilter,
  ContainerStats,
  ContainerStatus,
  PodSandbox,
  PodSandboxConfig,
  PodSandboxFilter,
  PodSandboxStatus,
} from '../../types/cri.ts';
import type { Finding } from './findings.ts';
import type { StreamSelection, TerminalSize } from '../../agent/runtime/service/streaming-runtime.ts';

/**
 * The protocol of client and monitor: one JSON value per line. The monitor begins with its `Hello`. Then the client
 * sends requests and cancellations; the monitor sends events, and responses in any order. Raise the version when an
 * older monitor, which still has containers, would misunderstand a newer client.
 */
export const PROTOCOL_VERSION = 1;

export interface MonitorMethods {
  runPodSandbox: Method<[config: PodSandboxConfig], string>;
  stopPodSandbox: Method<[id: string]>;
  removePodSandbox: Method<[id: string]>;
  podSandboxStatus: Method<[id: string], PodSandboxStatus>;
  listPodSandbox: Method<[filter: PodSandboxFilter], PodSandbox[]>;
  createContainer: Method<[sandboxId: string, config: ContainerConfig], string>;
  startContainer: Method<[id: string]>;
  stopContainer: Method<[id: string, timeoutSeconds: number]>;
  removeContainer: Method<[id: string]>;
  listContainers: Method<[filter: ContainerFilter], Container[]>;
  containerStatus: Method<[id: string], ContainerStatus>;
  reopenContainerLog: Method<[id: string]>;
  execSync: Method<[id: string, command: readonly string[], timeoutSeconds: number], ExecResult>;
  listContainerStats: Method<[filter: ContainerFilter], ContainerStats[]>;
  openStreams: Method<[containerId: string, request: StreamsRequest], OpenedStreams>;
  /** Results in the exit code, once the command, or the container's main process, has ended. */
  runStreams: Method<[streamsId: string], number>;
  resizeTerminal: Method<[streamsId: string, size: TerminalSize]>;
  /** The client has closed its end of the standard input. */
  endInput: Method<[streamsId: string]>;
  /** Damage that this monitor found at its start, and has not reported yet. */
  takeFindings: Method<[], Finding[]>;
  ping: Method<[]>;
}

interface Method<Params extends unknown[], Result = void> {
  readonly params: Params;
  readonly result: Result;
}

export type MethodName = keyof MonitorMethods;
export type Params<M extends MethodName> = MonitorMethods[M]['params'];
export type Result<M extends MethodName> = MonitorMethods[M]['result'];

/** What the monitor does for each method. The signal aborts when the client has given the call up. */
export type Handlers = {
  readonly [M in MethodName]: (params: Params<M>, signal: AbortSignal) => Result<M> | Promise<Result<M>>;
};

export interface ExecResult {
  readonly stdoutBase64: string;
  readonly stderrBase64: string;
  readonly exitCode: number;
}

export interface StreamsRequest extends StreamSelection {
  /** A command to run; without one, the client is attached to the container's main process. */
  readonly command?: readonly string[];
}

/** Named pipes, of which the client opens its ends before it asks to run. */
export interface OpenedStreams {
  readonly id: string;
  /** The pipe of the standard input, if it was asked for and there is one. The others are in the folder of the streams. */
  readonly stdin?: string;
}

/** What an older monitor would accept without doing it, or does not know. */
export const FEATURES = ['privileges', 'streams', 'findings', 'mounts', 'cgroups'] as const;
export type Feature = (typeof FEATURES)[number];

export interface Hello {
  readonly hello: 'statelet-monitor';
  readonly protocol: number;
  readonly pid: number;
  /** Undefined for older monitors. */
  readonly features?: readonly string[];
}

export interface Request {
  readonly id: number;
  readonly method: MethodName;
  readonly params: unknown[];
}

export type ClientMessage = Request | { readonly cancel: number };

export type MonitorMessage =
  | Hello
  | { readonly id: number; readonly result?: unknown }
  | { readonly id: number; readonly error: WireError }
  | { readonly event: ContainerEvent };

interface WireError {
  readonly kind: ErrorKind;
  readonly message: string;
}

export const encode = (message: ClientMessage | MonitorMessage): string => `${JSON.stringify(message)}\n`;

/** As much as container runtimes take in a request of CRI. */
const MAX_REQUEST_BYTES = 16 * 1024 * 1024;

/** Throws a StateletError of kind InvalidArgument for a request that the monitor would not read to its end. */
export function encodeRequest(request: Request): string {
  const line = encodeWithin(request, MAX_REQUEST_BYTES);
  if (line !== undefined) return line;
  throw invalid(
    `the request ${request.method} is too large: the monitor of the embedded runtime takes at most 16 MiB`,
  );
}

/** In place of a response that the client would not read to its end, an error that says so. */
export function encodeResponse(id: number, method: MethodName, result: unknown): string {
  const line = encodeWithin({ id, result }, MAX_LINE_BYTES);
  if (line !== undefined) return line;
  const message = `the answer to ${method} is too large: the monitor of the embedded runtime gives at most 64 MiB`;
  return encode({ id, error: { kind: 'ResourceExhausted', message } });
}

/** Undefined for a message that is too large. */
function encodeWithin(message: ClientMessage | MonitorMessage, bytesMax: number): string | undefined {
  const line = encode(message);
  return Buffer.byteLength(line) > bytesMax ? undefined : line;
}

export const toWireError = (error: unknown): WireError => ({
  kind: errorKind(error),
  message: errorMessage(error),
});

export const fromWireError = ({ kind, message }: WireError): StateletError =>
  new StateletError(kind, message);

/** Far more than a list of very many containers. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

/** Cuts a stream of bytes into lines. */
export class LineSplitter {
  #chunks: Buffer[] = [];
  #bytes = 0;

  /** The lines that this chunk completes. Throws if a line is too long. */
  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      lines.push(Buffer.concat([...this.#chunks, chunk.subarray(start, end)]).toString('utf8'));
      this.#chunks = [];
      this.#bytes = 0;
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
    return lines;
  }

  #keep(beginning: Buffer): void {
    // An empty view would keep the whole chunk in memory.
    if (beginning.length > 0) this.#chunks.push(beginning);
    this.#bytes += beginning.length;
    if (this.#bytes > MAX_LINE_BYTES) {
      throw invalid(`a message of more than ${MAX_LINE_BYTES} bytes`);
    }
  }
}
