import { join } from 'node:path';
import {
  checkpointText,
  type DevicesCheckpoint,
  readCheckpoint,
} from '../../policies/devices/devices-checkpoint.ts';
import { NewestFile, type StoredText, storedText } from '../../../system/newest-file.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import type { Logger } from '../../../types/logger.ts';

const CHECKPOINT_FILE = 'kubelet_internal_checkpoint';

export function checkpointIn(folder: string): StoredText {
  return storedText(join(folder, CHECKPOINT_FILE));
}

/** The checkpoint of devices, in the folder of device plugins. */
export class DevicesFile {
  readonly #file: StoredText;
  readonly #newest: NewestFile<DevicesCheckpoint>;
  readonly #logger: Pick<Logger, 'warn'>;

  constructor(file: StoredText, logger: Pick<Logger, 'warn'>) {
    this.#file = file;
    this.#newest = new NewestFile(file, (content) =>
      checkpointText(content, (bytes) => Buffer.from(bytes).toString('base64')),
    );
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
  async write(content: () => DevicesCheckpoint): Promise<void> {
    try {
      await this.#newest.write(content);
    } catch (error) {
      const problem = `failed to write checkpoint file "${CHECKPOINT_FILE}": ${errorMessage(error)}`;
      throw new StateletError('Unknown', problem, { cause: error });
    }
  }
}
