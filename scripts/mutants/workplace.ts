import { rmSync } from 'node:fs';
import { cp, mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mutated, type Mutant } from './mutant.ts';

/** The files that the suites need. */
const COPIED = ['src', 'test', 'scripts', 'package.json', 'jest.config.js', 'tsconfig.json'];

/** A copy of the tree, to which mutants are applied one after another. */
export class Workplace {
  readonly root: string;
  readonly #origin: string;

  private constructor(root: string, origin: string) {
    this.root = root;
    this.#origin = origin;
  }

  static async of(origin: string): Promise<Workplace> {
    const root = await mkdtemp(join(tmpdir(), 'statelet-mutants-'));
    await Promise.all(COPIED.map((name) => cp(join(origin, name), join(root, name), { recursive: true })));
    await symlink(join(origin, 'node_modules'), join(root, 'node_modules'));
    return new Workplace(root, origin);
  }

  /** Applies the mutant, does the work, and undoes the mutant. */
  async with<T>(mutant: Mutant, work: () => Promise<T>): Promise<T> {
    const { file } = mutant;
    const text = await readFile(join(this.#origin, file), 'utf8');
    await writeFile(join(this.root, file), mutated(text, mutant));
    try {
      return await work();
    } finally {
      await writeFile(join(this.root, file), text);
    }
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
