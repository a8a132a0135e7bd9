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

export const CHECKPOINT_FILE = 'kubelet_internal_checkpoint';

const MODE = 0o600;
const BYTES_MAX = 64 * 1024 * 1024;

/** The checkpoint of devices, in the folder of device plugins. */
export class DevicesFile {
  readonly #path: string;
  readonly #logger: Pick<Logger, 'warn'>;
  readonly #writes = new OneAtATime();
  /** A write that has not begun: it will have what is new then. */
  #next: Promise<void> | undefined;

  constructor(folder: string, logger: Pick<Logger, 'warn'>) {
    this.#path = join(folder, CHECKPOINT_FILE);
    this.#logger = logger;
  }

  /** One that cannot be read is reported, and counts as empty. */
  read(): DevicesCheckpoint {
    const none = { entries: [], registered: {} };
    if (!existsSync(this.#path)) return none;
    try {
      return readCheckpoint(readPlainFile(this.#path, BYTES_MAX), (text) => [...Buffer.from(text, 'base64')]);
    } catch (error) {
      const line = `${this.#path} cannot be read, so it is not known which devices containers have: ${errorMessage(error)}`;
      this.#logger.warn({}, line);
      return none;
    }
  }

  /** `content`: as it is when the writing begins. Rejects where it cannot be written. */
  write(content: () => DevicesCheckpoint): Promise<void> {
    this.#next ??= this.#writes.run(async () => {
      this.#next = undefined;
      try {
        const text = checkpointText(content(), (bytes) => Buffer.from(bytes).toString('base64'));
        await replaceFile(this.#path, text, { mode: MODE });
      } catch (error) {
        const problem = `failed to write checkpoint file "${CHECKPOINT_FILE}": ${errorMessage(error)}`;
        throw new StateletError('Unknown', problem, { cause: error });
      }
    });
    return this.#next;
  }
}
