import { closeSync, constants, openSync } from 'node:fs';
import type { ContainerConfig } from '../../types/cri.ts';

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

  clientEnded(): void {
    if (this.#endsWithClient) this.close();
  }

  close(): void {
    if (this.#keeper === undefined) return;
    closeSync(this.#keeper);
    this.#keeper = undefined;
  }
}

const { O_RDONLY, O_RDWR, O_WRONLY, O_NONBLOCK } = constants;

/**
 * Opens an end of a named pipe for a process that is to be started: it gets the end of the file, or SIGPIPE, when the other
 * end is closed. The flags are those that programs expect: blocking.
 */
export function openForProcess(pipe: string, direction: 'reading' | 'writing'): number {
  return whilePipeIsOpen(pipe, () => openSync(pipe, direction === 'reading' ? O_RDONLY : O_WRONLY));
}

/** Opens an end that a process of Node's writes into. The reader may come later. */
export function openForWriting(pipe: string): number {
  return whilePipeIsOpen(pipe, () => openSync(pipe, O_WRONLY | O_NONBLOCK));
}

/** The system opens one direction of a pipe only while the other one is open: a descriptor for both stands in for it. */
function whilePipeIsOpen(pipe: string, open: () => number): number {
  const both = openSync(pipe, O_RDWR | O_NONBLOCK);
  try {
    return open();
  } finally {
    closeSync(both);
  }
}
