import { chmod, readdir, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { removeTree } from '../../../system/files/remove-tree.ts';
import { makeFolder } from '../../../system/make-folder.ts';
import { OneAtATime } from '../../../system/promises.ts';
import { ifThere } from '../../../system/system-errors.ts';
import { Timer } from '../../../system/timer.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { Logger } from '../../../types/logger.ts';

export interface ClaimFoldersOptions {
  /** Has a folder for each claim: `<folder>/<namespace>/<name>`. */
  readonly folder: string;
  /** The claims, as `namespace/name`, whose folders pods of the disk use, also claims of pods that are not known yet. */
  readonly usedOnDisk: () => Promise<ReadonlySet<string>>;
  /** From the moment when a claim is not wanted any more. */
  readonly removalDelayMs?: number;
}

/** If a file is moved, or an editor writes it anew, the data of pods must not be lost. */
const REMOVAL_DELAY_MS = 60_000;
/** Other users of the machine have no way to the folders of claims. */
const PRIVATE_FOLDER_MODE = 0o750;
/** Whatever user a container has, it may write. */
const CLAIM_FOLDER_MODE = 0o777;

type Context = Pick<AgentContext, 'clock' | 'logger'>;
type IsWanted = (claim: string) => boolean;

/**
 * The folders of claims. One is made when a pod first needs it, and removed some time after its document has gone, once no pod uses it.
 * Those of an earlier agent are found on the disk.
 */
export class ClaimFolders {
  readonly #logger: Logger;
  readonly #options: ClaimFoldersOptions;
  readonly #timer: Timer;
  /** Undefined while it is not known which claims there are: nothing is removed then. */
  #isWanted: IsWanted | undefined;
  readonly #work = new OneAtATime();

  constructor({ clock, logger }: Context, options: ClaimFoldersOptions) {
    this.#logger = logger;
    this.#options = options;
    this.#timer = new Timer(clock);
  }

  /** Makes the folder unless it exists. Resolves to its path. */
  make(claim: string): Promise<string> {
    const folder = join(this.#options.folder, claim);
    return this.#work.run(async () => {
      await makeFolder(dirname(folder), PRIVATE_FOLDER_MODE);
      // The process may have a mask that takes rights away.
      if (await makeFolder(folder, CLAIM_FOLDER_MODE)) await chmod(folder, CLAIM_FOLDER_MODE);
      return folder;
    });
  }

  /** These claims stay, now and until the next call. */
  keep(isWanted: IsWanted | undefined): void {
    this.#isWanted = isWanted;
    if (isWanted) this.#armRemoval();
    else this.#timer.disarm();
  }

  /** A pod uses its claims no more. */
  released(): void {
    if (this.#isWanted && !this.#timer.isArmed) this.#armRemoval();
  }

  close(): void {
    this.keep(undefined);
  }

  #armRemoval(): void {
    const { removalDelayMs = REMOVAL_DELAY_MS } = this.#options;
    this.#timer.arm(removalDelayMs, () => {
      this.#work
        .run(() => this.#removeUnwanted())
        .catch((error: unknown) => {
          this.#logger.warn({}, `folders of claims cannot be looked through: ${errorMessage(error)}`);
        });
    });
  }

  async #removeUnwanted(): Promise<void> {
    const unwanted = (await this.#onDisk()).filter((claim) => this.#isWanted?.(claim) === false);
    if (unwanted.length === 0) return;
    const used = await this.#options.usedOnDisk();
    for (const claim of unwanted) if (!used.has(claim)) await this.#remove(claim);
  }

  /** What is mounted in the folder stays, and so does the folder. */
  async #remove(claim: string): Promise<void> {
    if (this.#isWanted?.(claim) !== false) return;
    const path = join(this.#options.folder, claim);
    try {
      await removeTree(path);
      this.#logger.info({ path }, `removed the folder of the claim ${claim}: it has no document any more`);
      // Claims of the namespace that are left keep its folder.
      await rmdir(dirname(path)).catch(() => undefined);
    } catch (error) {
      this.#logger.warn(
        { path },
        `the folder of the claim ${claim} cannot be removed: ${errorMessage(error)}`,
      );
    }
  }

  async #onDisk(): Promise<string[]> {
    const { folder } = this.#options;
    const claims: string[] = [];
    for (const namespace of await foldersIn(folder))
      for (const name of await foldersIn(join(folder, namespace))) claims.push(`${namespace}/${name}`);
    return claims;
  }
}

/** Links are none. */
async function foldersIn(path: string): Promise<string[]> {
  const entries = (await ifThere(readdir(path, { withFileTypes: true }))) ?? [];
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}
