/** The sockets of plugins: a folder is watched for them, and also read at intervals. */
import type { Dirent } from 'node:fs';
import { lstat, readdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { oneLine } from '../../policies/formats/terminal-text.ts';
import { patientCalls, type PatientCalls } from '../../../system/files/patient-calls.ts';
import { type KernelWatch, kernelWatch } from '../../../system/kernel-watch.ts';
import { makeFolder } from '../../../system/make-folder.ts';
import { isAbsence } from '../../../system/system-errors.ts';
import { Timer } from '../../../system/timer.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorMessage } from '../../../types/errors.ts';

export interface SocketListener {
  /** A socket is there that was not there before, or that was removed and made again. */
  readonly onFound: (path: string) => void;
  readonly onGone: (path: string) => void;
}

/** As the kubelet makes it. */
const FOLDER_MODE = 0o750;
/** The wait between an event and reading the folder: sockets that appear together are read together, and their servers listen by then. */
const AT_ONCE_MS = 10;
/** A folder in which something changes all the time is read no more often than that. */
const PAUSE_MS = 50;
/** How often the folder is read where no event came: events can be lost. */
const CHECK_MS = 20_000;
const CHECK_UNWATCHED_MS = 1_000;
/** So many sockets are reported in one turn of the event loop: each is the beginning or the end of an actor. */
const NEWS_A_TURN = 25;

/** Keys of problems that are not of one path. */
const OPEN = 'open';
const MAKING = 'making';
const WATCHING = 'watching';

export class PluginSockets {
  readonly #context: AgentContext;
  readonly #listener: SocketListener;
  readonly #folder: string;
  /** Plugins prove who they are: who can make sockets does not matter. */
  readonly #isGuarded: boolean;
  readonly #timer: Timer;
  readonly #newsTimer: Timer;
  /** The news that is still to be reported, in this order. */
  readonly #news: { readonly listener: (path: string) => void; readonly path: string }[] = [];
  readonly #problems = new Map<string, string>();
  #sockets: ReadonlyMap<string, string> = new Map();
  #watches: readonly KernelWatch[] = [];
  #reading: Promise<void> = Promise.resolve();
  #isReading = false;
  #hasChanged = false;
  #isStopped = false;
  #readAt = -Infinity;

  /** `folder` is made if it is missing. */
  constructor(
    context: AgentContext,
    folder: string,
    listener: SocketListener,
    { isGuarded = false }: { readonly isGuarded?: boolean } = {},
  ) {
    this.#context = context;
    this.#listener = listener;
    this.#isGuarded = isGuarded;
    this.#folder = resolve(folder);
    this.#timer = new Timer(context.clock);
    this.#newsTimer = new Timer(context.clock);
  }

  start(): void {
    this.#begin(true);
  }

  /** Resolves when nothing is read any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer.disarm();
    this.#newsTimer.disarm();
    this.#watch([]);
    await this.#reading;
  }

  #begin(makes: boolean): void {
    this.#isReading = true;
    this.#hasChanged = false;
    this.#reading = this.#read(makes);
  }

  /** `makes`: a missing folder is made. Not right after its removal: the program that removed it may be about to make it again. */
  async #read(makes: boolean): Promise<void> {
    const { clock } = this.#context;
    const makeProblem = makes ? await this.#make() : this.#problems.get(MAKING);
    const watches = this.#isStopped ? [] : [this.#watchParent()];
    const found = await readSockets(this.#folder, (path) => {
      if (!this.#isStopped) watches.push(kernelWatch(path, () => this.#note()));
    });
    this.#isReading = false;
    this.#readAt = clock.now();
    if (this.#isStopped) {
      for (const watch of watches) watch.close();
      return;
    }
    this.#watch(watches);
    this.#logProblems(found, watches, makeProblem);
    this.#take(found);
    this.#planNext(watches.some(({ failure }) => failure !== undefined));
  }

  /** New watches begin before each reading, so that nothing is missed between them; the former ones end after it. */
  #watch(watches: readonly KernelWatch[]): void {
    for (const watch of this.#watches) watch.close();
    this.#watches = watches;
  }

  /** Only the parent folder's watch shows that the folder was removed or made again. */
  #watchParent(): KernelWatch {
    const name = basename(this.#folder);
    return kernelWatch(dirname(this.#folder), (_, file) => {
      if (file === null || file === name) this.#note();
    });
  }

  async #make(): Promise<string | undefined> {
    try {
      await patientCalls.call(this.#folder, () => makeFolder(this.#folder, FOLDER_MODE));
      return undefined;
    } catch (error) {
      return `cannot be made: ${errorMessage(error)}`;
    }
  }

  #note(): void {
    if (this.#hasChanged) return;
    this.#hasChanged = true;
    if (!this.#isReading) this.#planNext(false);
  }

  #planNext(isUnwatched: boolean): void {
    // A listener may have stopped this.
    if (this.#isStopped) return;
    if (this.#hasChanged) {
      const pauseMs = this.#readAt + PAUSE_MS - this.#context.clock.now();
      this.#timer.arm(Math.min(Math.max(AT_ONCE_MS, pauseMs), PAUSE_MS), () => this.#begin(false));
    } else {
      this.#timer.arm(isUnwatched ? CHECK_UNWATCHED_MS : CHECK_MS, () => this.#begin(true));
    }
  }

  #take({ sockets, problems }: FoundSockets): void {
    const unread = [...problems.keys()];
    const isUnread = (path: string) => unread.some((other) => path === other || path.startsWith(`${other}/`));
    const before = this.#sockets;
    const kept = [...before].filter(([path]) => !sockets.has(path) && isUnread(path));
    const now = new Map([...sockets, ...kept]);
    this.#sockets = now;
    const { onFound, onGone } = this.#listener;
    const others = (these: ReadonlyMap<string, string>, those: ReadonlyMap<string, string>) =>
      [...these].flatMap(([path, file]) => (those.get(path) === file ? [] : [path])).sort();
    const isNotifying = this.#news.length > 0;
    for (const path of others(before, now)) this.#news.push({ listener: onGone, path });
    for (const path of others(now, before)) this.#news.push({ listener: onFound, path });
    if (!isNotifying) this.#notify();
  }

  #notify(): void {
    for (const { listener, path } of this.#news.slice(0, NEWS_A_TURN)) {
      // A listener may have stopped this.
      if (this.#isStopped) return;
      listener(path);
    }
    this.#news.splice(0, NEWS_A_TURN);
    if (this.#news.length > 0) this.#newsTimer.arm(0, () => this.#notify());
  }

  /** Each problem is a line once, and again after it was over. */
  #logProblems(
    { problems, open }: FoundSockets,
    watches: readonly KernelWatch[],
    makeProblem: string | undefined,
  ): void {
    const now = new Map(problems);
    const unwatched = watches.find(({ failure }) => failure !== undefined)?.failure;
    if (unwatched !== undefined)
      now.set(WATCHING, `cannot be watched, and is read every second: ${unwatched}`);
    if (makeProblem !== undefined) now.set(MAKING, makeProblem);
    if (open !== undefined && !this.#isGuarded) now.set(OPEN, openProblem(open, this.#folder));
    for (const [path, problem] of now) {
      if (this.#problems.get(path) === problem) continue;
      const what = path.startsWith('/') ? `${path} cannot be read: ${problem}` : `${this.#folder} ${problem}`;
      // Whoever makes a folder there names it.
      this.#context.logger.warn(
        { folder: this.#folder },
        `The folder for sockets of plugins: ${oneLine(what)}`,
      );
    }
    this.#problems.clear();
    for (const [path, problem] of now) this.#problems.set(path, problem);
  }
}

interface FoundSockets {
  /** By path: which file it is. A socket that was removed and made again is another one. */
  readonly sockets: ReadonlyMap<string, string>;
  /** Paths that could not be read, with the reason. What was in them before counts as still there. */
  readonly problems: ReadonlyMap<string, string>;
  /** A folder in which others can make sockets; undefined where there is none. */
  readonly open: OpenFolder | undefined;
}

interface OpenFolder {
  readonly path: string;
  readonly mode: number;
  readonly uid: number;
}

const WRITABLE_BY_OTHERS = 0o022;

/** Whether others than root and this user can write there. */
function isOpen({ mode, uid }: Pick<OpenFolder, 'mode' | 'uid'>): boolean {
  return (mode & WRITABLE_BY_OTHERS) !== 0 || (uid !== 0 && uid !== process.getuid?.());
}

function openProblem({ path, mode, uid }: OpenFolder, folder: string): string {
  const where = path === folder ? '' : `: its folder ${path}`;
  const rights = `mode 0${(mode & 0o7777).toString(8)}, owner ${uid}`;
  return `can be written by others${where} (${rights}): their plugins may have pods ended; chmod 750, or set evictionPlugins.strictAuthentication`;
}

/**
 * Names that begin with a dot are left out, and so is whatever is neither a socket nor a folder. A link to a socket counts, a link to
 * a folder does not. `onFolder` is called with each folder before it is read. `calls`: a link may lead to a file system that does not
 * answer.
 */
export async function readSockets(
  folder: string,
  onFolder: (path: string) => void,
  calls: Pick<PatientCalls, 'call'> = patientCalls,
): Promise<FoundSockets> {
  const sockets = new Map<string, string>();
  const problems = new Map<string, string>();
  let open: OpenFolder | undefined;
  const attempt = async (path: string, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      if (!isAbsence(error)) problems.set(path, errorMessage(error));
    }
  };
  const readSocket = async (path: string, isLink: boolean) => {
    const file = isLink
      ? await calls.call(path, () => stat(path, { bigint: true }))
      : await lstat(path, { bigint: true });
    // The number of a file that was removed is used again at once.
    if (file.isSocket()) sockets.set(path, [file.dev, file.ino, file.mtimeNs].join());
  };
  const readFolder = async (path: string): Promise<void> => {
    // Of a folder that does not answer, the watch would not return either.
    const { mode, uid } = await calls.call(path, () => lstat(path));
    if (isOpen({ mode, uid })) open ??= { path, mode, uid };
    onFolder(path);
    const all = await calls.call(path, () => readdir(path, { withFileTypes: true }));
    const entries = all.filter(({ name }) => !name.startsWith('.'));
    await Promise.all(
      entries.map(async (entry) => {
        const inner = join(path, entry.name);
        if (entry.isDirectory()) await attempt(inner, () => readFolder(inner));
        else if (mayBeSocket(entry)) await attempt(inner, () => readSocket(inner, entry.isSymbolicLink()));
      }),
    );
  };
  await attempt(folder, () => readFolder(folder));
  return { sockets, problems, open };
}

function mayBeSocket(entry: Dirent): boolean {
  return entry.isSocket() || entry.isSymbolicLink();
}
