import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A file or folder of this package: its package.json is one folder above src/ and above dist/. */
export function ownFile(path: string): string {
  return fileURLToPath(new URL(`../${path}`, import.meta.url));
}

/** The version of this package. */
export function ownVersion(): string {
  return (JSON.parse(readFileSync(ownFile('package.json'), 'utf8')) as { version: string }).version;
}
