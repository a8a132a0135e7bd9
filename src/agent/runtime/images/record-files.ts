import { createHash } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../../system/make-folder.ts';
import { goJSON } from '../../policies/formats/go-text.ts';
import { OneAtATime } from '../../../system/promises.ts';
import { fileOfDraft, replaceFile } from '../../../system/replace-file.ts';
import { ifThere } from '../../../system/system-errors.ts';

const PREFIX = 'sha256-';

export interface RecordFile {
  readonly path: string;
  /** Undefined: the file is not JSON, or cannot be read. */
  readonly content: unknown;
}

/** A folder of JSON files, one for each image, with the kubelet's names. */
export class RecordFiles {
  readonly #dir: string;
  /** A file is never written twice at a time. */
  readonly #turns = new OneAtATime();
  readonly #onChange: () => void;
  readonly #paths = new Set<string>();

  /** `onChange`: there may be more or fewer of them. */
  constructor(dir: string, onChange: () => void = () => undefined) {
    this.#dir = dir;
    this.#onChange = onChange;
  }

  /** How many files there are, as far as they were read and written. */
  get count(): number {
    return this.#paths.size;
  }

  async read(): Promise<readonly RecordFile[]> {
    const names = (await ifThere(readdir(this.#dir))) ?? [];
    const own = names.filter((name) => name.startsWith(PREFIX) && fileOfDraft(name) === undefined);
    const paths = own.map((name) => join(this.#dir, name));
    for (const path of paths) this.#paths.add(path);
    this.#onChange();
    return Promise.all(paths.map((path) => this.#readFile(path)));
  }

  pathOf(image: string): string {
    return join(this.#dir, PREFIX + createHash('sha256').update(image).digest('hex'));
  }

  /** Readers find the old content or the new one, also after a crash. Rejects with the system's error. */
  write(image: string, content: object): Promise<void> {
    return this.#turns.run(async () => {
      await makeFolder(this.#dir, 0o700);
      const path = this.pathOf(image);
      await replaceFile(path, `${goJSON(content)}\n`, { mode: 0o600 });
      this.#paths.add(path);
      this.#onChange();
    });
  }

  remove(image: string): Promise<void> {
    return this.#turns.run(async () => {
      const path = this.pathOf(image);
      await rm(path, { force: true });
      this.#paths.delete(path);
      this.#onChange();
    });
  }

  async #readFile(path: string): Promise<RecordFile> {
    try {
      return { path, content: JSON.parse(await readFile(path, 'utf8')) };
    } catch {
      return { path, content: undefined };
    }
  }
}
