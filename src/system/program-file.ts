import { fileURLToPath } from 'node:url';

/** TypeScript in a checkout, JavaScript in the package: as this file. */
const EXTENSION = import.meta.url.endsWith('.ts') ? 'ts' : 'js';

/** What Node needs to run a program of the product besides its file. */
export const PROGRAM_FLAGS: readonly string[] =
  EXTENSION === 'ts' ? ['--disable-warning=ExperimentalWarning'] : [];

/** The file of a program that lies beside the module `url`, by its name without an extension. */
export function programFile(name: string, url: string): string {
  return fileURLToPath(new URL(`./${name}.${EXTENSION}`, url));
}
