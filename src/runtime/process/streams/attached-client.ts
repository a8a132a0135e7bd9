import type { TerminalSize } from '../../service/streaming-runtime.ts';
import type { Container } from '../containers/container.ts';
import type { Copies } from '../containers/container-log.ts';
import type { StreamName } from '../layout.ts';
import type { StreamsRequest } from '../monitor/protocol.ts';
import { OutputCopy } from './output-copy.ts';
import { openForWriting } from './pipe-ends.ts';
import { resizeTerminal } from './pseudo-terminal.ts';

/** A client of a container's main process. */
export class AttachedClient {
  readonly #container: Container;
  readonly #request: StreamsRequest;
  readonly #copies: Partial<Record<keyof Copies, OutputCopy>> = {};
  #detach: () => void = () => undefined;

  /** Opens the pipes of the output. What the container writes from now on is for the client. */
  constructor(container: Container, request: StreamsRequest, pipe: (stream: StreamName) => string) {
    this.#container = container;
    this.#request = request;
    const { stdout, stderr } = request;
    try {
      if (stdout) this.#copies.stdout = new OutputCopy(openForWriting(pipe('stdout')));
      if (stderr) this.#copies.stderr = new OutputCopy(openForWriting(pipe('stderr')));
      this.#detach = container.copyOutput(this.#copies);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** Of the container's terminal. */
  async resize(size: TerminalSize): Promise<void> {
    const { process: main, config } = this.#container.record;
    if (main && config.tty) await resizeTerminal(main.pid, size);
  }

  /** Copies the output until the container ends, or the signal aborts: the client is gone then. The exit code is 0. */
  async run(signal: AbortSignal): Promise<number> {
    const copies = Object.values(this.#copies);
    const { promise: left, resolve: leave } = Promise.withResolvers<undefined>();
    signal.addEventListener('abort', () => leave(undefined), { once: true });
    if (signal.aborted) leave(undefined);
    const allClosed = Promise.all(copies.map((copy) => copy.ended));
    try {
      for (const copy of copies) copy.clientIsOpen();
      await Promise.race([this.#container.ended, left, ...(copies.length > 0 ? [allClosed] : [])]);
      this.#detach();
      for (const copy of copies) copy.end();
      await Promise.race([left, allClosed]);
      return 0;
    } finally {
      this.endInput();
      this.close();
    }
  }

  /** The client has ended its input. */
  endInput(): void {
    if (this.#request.stdin) this.#container.clientInputEnded();
  }

  close(): void {
    this.#detach();
    for (const copy of Object.values(this.#copies)) copy.destroy();
  }
}
