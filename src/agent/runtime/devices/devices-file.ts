import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  checkpointText,
  type DevicesCheckpoint,
  readCheckpoint,
} from '../../policies/devices/devices-checkpoint.ts';
import { readPlainFile } from '../../../system/plain-file.ts';
import { OneAtATime } from '../../../system/promises.ts';
import { replaceFile } from '../../../system/replace-file.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import type { Logger } from '../../../types/logger.ts';

const CHECKPOINT_FILE = 'kubelet_internal_checkpoint';

const MODE = 0o600;
const BYTES_MAX = 64 * 1024 * 1024;

/** A file that is read at the start, and replaced as a whole. */
export interface CheckpointFile {
  readonly path: string;
  /** Undefined where there is no such file. Throws where it cannot be read. */
  read(): string | undefined;
  /** Rejects where it cannot be written. */
  replace(text: string): Promise<void>;
}

export function checkpointIn(folder: string): CheckpointFile {
  const path = join(folder, CHECKPOINT_FILE);
  return {
    path,
    read: () => (existsSync(path) ? readPlainFile(path, BYTES_MAX) : undefined),
    replace: (text) => replaceFile(path, text, { mode: MODE }),
  };
}

/** The checkpoint of devices, in the folder of device plugins. */
export class DevicesFile {
  readonly #file: CheckpointFile;
  readonly #logger: Pick<Logger, 'warn'>;
  readonly #writes = new OneAtATime();
  /** A write that has not begun: it will have what is new then. */
  #next: Promise<void> | undefined;

  constructor(file: CheckpointFile, logger: Pick<Logger, 'warn'>) {
    this.#file = file;
    this.#logger = logger;
  }

  /** Undefined where there is none. One that cannot be read is reported, and counts as empty. */
  read(): DevicesCheckpoint | undefined {
    try {
      const text = this.#file.read();
      return text === undefined
        ? undefined
        : readCheckpoint(text, (base64) => [...Buffer.from(base64, 'base64')]);
    } catch (error) {
      const line = `${this.#file.path} cannot be read, so it is not known which devices containers have: ${errorMessage(error)}`;
      this.#logger.warn({}, line);
      return { entries: [], registered: {} };
    }
  }

  /** `content`: as it is when the writing begins. Rejects where it cannot be written. */
  write(content: () => DevicesCheckpoint): Promise<void> {
    this.#next ??= this.#writes.run(async () => {
      this.#next = undefined;
      try {
        await this.#file.replace(checkpointText(content(), (bytes) => Buffer.from(bytes).toString('base64')));
      } catch (error) {
        const problem = `failed to write checkpoint file "${CHECKPOINT_FILE}": ${errorMessage(error)}`;
        throw new StateletError('Unknown', problem, { cause: error });
      }
    });
    return this.#next;
  }
}
