import { closeSync, constants, openSync } from 'node:fs';
import type { ContainerConfig } from '../../../types/cri.ts';
import { openForProcess, openForWriting } from './pipe-ends.ts';

/** The standard input of a container: a named pipe, into which attached clients write. */
export class ContainerInput {
  readonly #pipe: string;
  readonly #isOpenToClients: boolean;
  /** With a terminal, the end of the input would end the shell in it: container runtimes leave it open. */
  readonly #endsWithClient: boolean;
  /** Keeps the input open until the first client has come and gone. */
  #keeper: number | undefined;

  constructor(pipe: string, { stdin = false, stdinOnce = false, tty = false }: ContainerConfig) {
    this.#pipe = pipe;
    this.#isOpenToClients = stdin;
    this.#endsWithClient = stdin && stdinOnce && !tty;
  }

  /** Where clients write; undefined if the container has no input for them, or it has ended. */
  get pipe(): string | undefined {
    const isOpen = !this.#endsWithClient || this.#keeper !== undefined;
    return this.#isOpenToClients && isOpen ? this.#pipe : undefined;
  }

  /**
   * Opens the end of a container that is to be started. An input without an end is held open by the container itself, also
   * while no monitor runs.
   */
  open(): number {
    if (!this.#endsWithClient) return openSync(this.#pipe, constants.O_RDWR);
    this.#keeper = openForWriting(this.#pipe);
    return openForProcess(this.#pipe, 'reading');
  }

  /** A client has ended its input, or is gone. */
  clientEnded(): void {
    if (this.#endsWithClient) this.close();
  }

  close(): void {
    if (this.#keeper === undefined) return;
    closeSync(this.#keeper);
    this.#keeper = undefined;
  }
}
