import { readFile, stat } from 'node:fs/promises';

/** A file whose text is read again when it has changed. */
export class WatchedFile {
  readonly path: string;
  #text: string | undefined;
  #version = '';

  constructor(path: string) {
    this.path = path;
  }

  /** Rejects with the system's error. */
  async text(): Promise<string> {
    const { mtimeNs, ctimeNs, ino, size } = await stat(this.path, { bigint: true });
    const version = [mtimeNs, ctimeNs, ino, size].join();
    if (this.#text === undefined || version !== this.#version) {
      this.#text = await readFile(this.path, 'utf8');
      this.#version = version;
    }
    return this.#text;
  }
}
