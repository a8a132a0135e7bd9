/**
 * How a worker of the tests loads modules. A module of the product or of a package is loaded once. A module below `test/` is loaded anew
 * for each test file: it may have hooks and variables that belong to that file.
 */
import { registerHooks } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = dirname(dirname(import.meta.dirname));
const TESTS = pathToFileURL(join(ROOT, 'test/')).href;
const GLOBALS = pathToFileURL(join(import.meta.dirname, 'jest-globals.ts')).href;
/** Stately's parser of machines (`@xstate/machine-extractor`) needs files that only XState 4 has. */
const XSTATE_4 = /^xstate(?=\/lib\/)/u;

let fileNumber = 0;

/** Another test file begins. */
export function beginFile(): void {
  fileNumber += 1;
}

/** The URL of a module that is loaded anew for the current test file. */
export function ofCurrentFile(url: string): string {
  return `${url}?file=${fileNumber}`;
}

registerHooks({
  resolve(specifier, context, nextResolve) {
    const wanted = specifier === '@jest/globals' ? GLOBALS : specifier.replace(XSTATE_4, 'xstate-4');
    const resolved = nextResolve(wanted, context);
    const { url } = resolved;
    if (url !== GLOBALS && !url.startsWith(TESTS)) return resolved;
    return { ...resolved, url: url.includes('?') ? url : ofCurrentFile(url) };
  },
});
