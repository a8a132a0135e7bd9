import { StateletError } from '../../types/errors.ts';
import type { VolumeFile } from './projected-files.ts';

/** More than the objects of an ordinary volume have, and as much as can be compared and written without holding others up. */
const FILES_BYTES_MAX = 32 * 1024 * 1024;

/** Counts the files of a volume, of which many may come from one large object. */
export class FilesSize {
  readonly #volume: string;
  #bytes = 0;

  constructor({ name }: { readonly name: string }) {
    this.#volume = name;
  }

  get isExceeded(): boolean {
    return this.#bytes > FILES_BYTES_MAX;
  }

  /** The files. Throws a StateletError of kind InvalidArgument where the volume has too much with them. */
  counted(files: readonly VolumeFile[]): readonly VolumeFile[] {
    for (const { content } of files) this.#bytes += content.length;
    if (!this.isExceeded) return files;
    throw new StateletError(
      'InvalidArgument',
      `volume "${this.#volume}" has more than 32 MiB of files from ConfigMaps, Secrets and the pod; leave some of its sources or items out`,
    );
  }
}
