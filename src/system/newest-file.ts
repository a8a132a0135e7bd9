/** A file that keeps what a part of the agent knows, for a next agent. */
import { readPlainFile } from './plain-file.ts';
import { OneAtATime } from './promises.ts';
import { replaceFile } from './replace-file.ts';
import { isAbsence } from './system-errors.ts';

const MODE = 0o600;
const BYTES_MAX = 64 * 1024 * 1024;

/** Where the text is: on this machine, or on a simulated one. */
export interface StoredText {
  readonly path: string;
  /** Undefined where there is no file. Throws where it cannot be read. */
  read(): string | undefined;
  /** Readers find the whole old text or the whole new one. */
  replace(text: string): Promise<void>;
}

export function storedText(path: string): StoredText {
  return {
    path,
    read: () => {
      try {
        return readPlainFile(path, BYTES_MAX);
      } catch (error) {
        if (isAbsence(error)) return undefined;
        throw error;
      }
    },
    replace: (text) => replaceFile(path, text, { mode: MODE }),
  };
}

/** Writes one at a time, and always what is newest when the writing begins. */
export class NewestFile<Content> {
  readonly #file: StoredText;
  readonly #textOf: (content: Content) => string;
  readonly #writes = new OneAtATime();
  /** A write that has not begun: it writes what is newest when it begins. */
  #next: Promise<void> | undefined;
  /** What the file has; undefined: not known, or there is none. */
  #saved: Content | undefined;

  constructor(file: StoredText, textOf: (content: Content) => string) {
    this.#file = file;
    this.#textOf = textOf;
  }

  isSaved(content: Content): boolean {
    return content === this.#saved;
  }

  /** Resolves when the file has what `current` returned when its turn came. Rejects where it cannot be written. */
  write(current: () => Content): Promise<void> {
    this.#next ??= this.#writes.run(async () => {
      this.#next = undefined;
      const content = current();
      if (this.isSaved(content)) return;
      await this.#file.replace(this.#textOf(content));
      this.#saved = content;
    });
    return this.#next;
  }
}
