import { readFileSync } from 'node:fs';

/** The contents of a file of JSON below this folder. It also works in a bundle of the program. */
export function readTable(path: string): unknown {
  return JSON.parse(readFileSync(new URL(`./${path}`, import.meta.url), 'utf8'));
}
