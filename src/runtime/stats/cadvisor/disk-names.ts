import { readlinkSync } from 'node:fs';
import { basename, join } from 'node:path';

/** The names of block devices by their numbers. */
export class DiskNames {
  readonly #root: string;
  readonly #names = new Map<string, string>();

  /** `root`: the folder that contains `sys`. */
  constructor(root: string) {
    this.#root = root;
  }

  /** `/dev/sda` for `8:0`; the numbers themselves where the kernel has no name. A device that is gone keeps its name. */
  nameOf(numbers: string): string {
    const known = this.#names.get(numbers);
    if (known !== undefined) return known;
    const name = this.#read(numbers);
    this.#names.set(numbers, name);
    return name;
  }

  #read(numbers: string): string {
    try {
      return `/dev/${basename(readlinkSync(join(this.#root, 'sys/dev/block', numbers)))}`;
    } catch {
      return numbers;
    }
  }
}
