/** Commands with streams to a client: what CRI calls Exec, Attach and PortForward. */
import type { Duplex, Readable, Writable } from 'node:stream';

export interface StreamSelection {
  readonly stdin: boolean;
  readonly stdout: boolean;
  /** Never with `tty`. */
  readonly stderr: boolean;
  readonly tty: boolean;
}

export interface ExecRequest extends StreamSelection {
  readonly containerId: string;
  readonly command: readonly string[];
}

export interface AttachRequest extends StreamSelection {
  readonly containerId: string;
}

export interface PortForwardRequest {
  readonly podSandboxId: string;
  /** Empty: the client names the port of each connection. */
  readonly ports: readonly number[];
}

/** In characters. */
export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

/** The streams of a command, or of a container's main process. All streams obey back-pressure. Those not asked for are undefined. */
export interface CommandStreams {
  /** To be ended when the client ends it. */
  readonly stdin: Writable | undefined;
  readonly stdout: Readable | undefined;
  readonly stderr: Readable | undefined;
  /** Of the terminal; without one nothing happens. */
  resize(size: TerminalSize): void;
  /** The exit code. Output may still have to be read. Of an attached container: 0 when it has ended. Rejects with a StateletError. */
  readonly exit: Promise<number>;
  /** The client is gone: a command of `exec` is killed, a container's main process goes on. */
  abandon(): void;
}

export interface PortForwarder {
  /** Rejects where nothing listens at that port. */
  connect(port: number): Promise<Duplex>;
  /** Ends all connections. */
  close(): void;
}

/** A runtime either serves the streams at a server of its own, at a URL for one request, or returns them. */
export type Streaming<T> = { readonly url: URL } | { readonly streams: T };

/** Methods reject with a `StateletError`: `NotFound` for an unknown container or sandbox, `FailedPrecondition` for one that does not run. */
export interface StreamingRuntime {
  exec(request: ExecRequest, options?: CallOptions): Promise<Streaming<CommandStreams>>;
  attach(request: AttachRequest, options?: CallOptions): Promise<Streaming<CommandStreams>>;
  portForward(request: PortForwardRequest, options?: CallOptions): Promise<Streaming<PortForwarder>>;
}

export interface CallOptions {
  /** Gives the call up. The runtime may still carry it out: read the pod before acting on it again. */
  readonly signal?: AbortSignal;
}
