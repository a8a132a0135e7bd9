import { stat } from 'node:fs/promises';
import { readProvidedFile } from '../../system/files/foreign-file.ts';
import { patientCalls } from '../../system/files/patient-calls.ts';

/** A file whose text is read again when it has changed. */
export class WatchedFile {
  readonly path: string;
  #text: string | undefined;
  #version = '';

  constructor(path: string) {
    this.path = path;
  }

  /** Rejects with the system's error, and with a StateletError where it is no plain file, is too large or does not answer. */
  async text(): Promise<string> {
    const { mtimeNs, ctimeNs, ino, size } = await patientCalls.call(this.path, () =>
      stat(this.path, { bigint: true }),
    );
    const version = [mtimeNs, ctimeNs, ino, size].join();
    if (this.#text === undefined || version !== this.#version) {
      this.#text = await readProvidedFile(this.path);
      this.#version = version;
    }
    return this.#text;
  }
}
