import { closeSync, constants, lchownSync, openSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { removePrivateSync } from '../../system/files/remove-tree.ts';
import { makeFolder } from '../../system/make-folder.ts';
import { runCommand } from '../../system/run-command.ts';
import { errnoCode } from '../../system/system-errors.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import type { ProcessSpec } from './launch.ts';

/** Enough for five to eight containers, which have two or three pipes each. */
const MADE_AT_ONCE = 16;

/**
 * Makes named pipes for containers and clients. Node's own pipes to children are sockets: a program cannot open them as
 * /dev/stdout, and they break when the reader dies. A named pipe waits for the next reader.
 *
 * Node cannot make named pipes, so a process has to. It makes several, which wait in a folder until they are needed.
 */
export class PipeStock {
  readonly #dir: string;
  readonly #stock: string[] = [];
  #made = 0;
  #making: Promise<void> | undefined;

  /** The folder has to be on the file system of the pipes' places. What an earlier monitor has left in it is removed. */
  constructor(dir: string) {
    this.#dir = dir;
    removePrivateSync(dir);
  }

  /** Puts a named pipe at each of these paths, for this user alone. Throws a StateletError if that is not possible. */
  async place(paths: readonly string[], user: ProcessSpec['user']): Promise<void> {
    try {
      while (this.#stock.length < paths.length) {
        await (this.#making ??= this.#make().finally(() => (this.#making = undefined)));
      }
      for (const path of paths) this.#placeOne(path, user);
    } catch (error) {
      const message = `the named pipes for a container's output could not be made: ${errorMessage(error)}`;
      throw new StateletError('Internal', message, { cause: error });
    }
  }

  #placeOne(path: string, user: ProcessSpec['user']): void {
    const pipe = this.#stock.pop() ?? '';
    try {
      renameSync(pipe, path);
    } catch (error) {
      removePrivateSync(pipe);
      throw error;
    }
    // The container's user needs the permission, to open /dev/stdout.
    if (user) lchownSync(path, user.uid, user.gid);
  }

  async #make(): Promise<void> {
    await makeFolder(this.#dir, 0o700);
    const pipes = Array.from({ length: MADE_AT_ONCE }, () => join(this.#dir, String(this.#made++)));
    try {
      await runCommand('mkfifo', ['-m', '600', ...pipes]);
    } catch (error) {
      for (const pipe of pipes) removePrivateSync(pipe);
      throw errnoCode(error) === 'ENOENT' ? new Error('mkfifo is not installed', { cause: error }) : error;
    }
    this.#stock.push(...pipes);
  }
}

/** Opens a reading end for the monitor, without waiting for a writer. */
export function openForReading(pipe: string): number {
  return openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
}

/**
 * Opens an end of each pipe for a container, calls `use` with them and closes them. The ends are open for reading and
 * writing, so that the container itself keeps its pipe alive: while no monitor reads it, the container waits instead
 * of getting SIGPIPE.
 */
export async function withContainerEnds<T>(
  pipes: readonly string[],
  use: (fds: number[]) => Promise<T>,
): Promise<T> {
  const fds: number[] = [];
  try {
    for (const pipe of pipes) fds.push(openSync(pipe, constants.O_RDWR));
    return await use(fds);
  } finally {
    for (const fd of fds) closeSync(fd);
  }
}
