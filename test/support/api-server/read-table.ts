import { readFileSync } from 'node:fs';

/** What is in a file of JSON below this folder. In a bundle that has been made of the program here, too. */
export function readTable(path: string): unknown {
  return JSON.parse(readFileSync(new URL(`./${path}`, import.meta.url), 'utf8'));
}
