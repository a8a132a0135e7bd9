/**
 * The socket of a plugin in the folder that the agent watches. An agent that starts, or that forgets its plugins, may remove it: then it is made
 * again. A look each second notices that, whatever became of the folder.
 */
import { renameSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { errorMessage, StateletError } from '../types/errors.ts';

const LOOK_EVERY_MS = 1000;
/** The system's limit for the path of a socket. */
const MAX_PATH_BYTES = 107;
/** How a connection fails where no process listens. */
const FREE = ['ECONNREFUSED', 'ENOENT', 'ENOTDIR'];

export interface SocketServer {
  /** Listens on one more socket. */
  listen(path: string): Promise<void>;
  /** Stops listening there. */
  unlisten(path: string): void;
}

export interface PluginSocketParts {
  readonly folder: string;
  readonly name: string;
  readonly server: SocketServer;
  readonly log: (line: string) => void;
}

type Made = 'Made' | 'NoFolder' | 'Taken';

export class PluginSocket {
  readonly path: string;
  readonly #parts: PluginSocketParts;
  #timer: NodeJS.Timeout | undefined;
  /** The socket that is ours: another process could put one of the same name in its place. */
  #inode: bigint | undefined;
  #listensOn: string | undefined;
  #count = 0;
  /** Why the socket cannot be there, as it was reported: each reason is reported once. */
  #problem = '';
  #looking: Promise<void> = Promise.resolve();

  constructor(parts: PluginSocketParts) {
    this.#parts = parts;
    this.path = join(parts.folder, `${parts.name}.sock`);
    if (Buffer.byteLength(this.#hiddenPath()) > MAX_PATH_BYTES)
      throw new StateletError(
        'InvalidArgument',
        `the socket ${this.path} has too long a path: a socket may have ${MAX_PATH_BYTES} bytes; choose a shorter folder or name`,
      );
  }

  /** Resolves when the socket is there. Rejects with AlreadyExists when another process serves it. */
  async start(): Promise<void> {
    if ((await this.#make()) === 'Taken')
      throw new StateletError('AlreadyExists', `another process serves ${this.path}`);
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const look = () => {
      if (this.#inode !== undefined) resolve(undefined);
    };
    this.#timer = setInterval(() => {
      this.#looking = this.#looking.then(() => this.#look()).then(look);
    }, LOOK_EVERY_MS);
    look();
    await promise;
  }

  /** Removes the socket, and stops listening. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
    if (this.#isThere()) rmSync(this.path, { force: true });
    this.#unlisten();
  }

  async #look(): Promise<void> {
    if (this.#isThere()) return;
    try {
      const made = await this.#make();
      if (made === 'Taken') this.#logOnce(`another process serves ${this.path}: this one is not asked`);
    } catch (error) {
      this.#logOnce(`${this.path} cannot be made: ${errorMessage(error)}`);
    }
  }

  /**
   * The socket is made under a hidden name, which agents pass over, and renamed when it listens: no agent sees one that does not answer yet,
   * and what a dead process has left is replaced in one step.
   */
  async #make(): Promise<Made> {
    if (statSync(dirname(this.path), { throwIfNoEntry: false }) === undefined) {
      this.#logOnce(`waits for the folder ${dirname(this.path)}, which the agent makes`);
      return 'NoFolder';
    }
    if (await isServed(this.path)) return 'Taken';
    const hidden = this.#hiddenPath();
    this.#count += 1;
    rmSync(hidden, { force: true });
    await this.#parts.server.listen(hidden);
    const { ino } = statSync(hidden, { bigint: true });
    renameSync(hidden, this.path);
    this.#unlisten();
    this.#listensOn = hidden;
    this.#inode = ino;
    this.#problem = '';
    this.#parts.log(`waits at ${this.path} for an agent`);
    return 'Made';
  }

  #isThere(): boolean {
    return this.#inode !== undefined && inodeOf(this.path) === this.#inode;
  }

  #unlisten(): void {
    if (this.#listensOn !== undefined) this.#parts.server.unlisten(this.#listensOn);
    this.#listensOn = undefined;
    this.#inode = undefined;
  }

  #hiddenPath(): string {
    return join(this.#parts.folder, `.${this.#parts.name}.${process.pid}-${this.#count}`);
  }

  #logOnce(problem: string): void {
    if (problem !== this.#problem) this.#parts.log(problem);
    this.#problem = problem;
  }
}

function inodeOf(path: string): bigint | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}

/** Whether a process serves there. A socket that is left of a dead process refuses connections. */
function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(!FREE.includes(code ?? '')));
  });
}
