import { readFileSync } from 'node:fs';

/** Of this package. It lies one folder above this file, and above that into which this file is built. */
export function ownVersion(): string {
  const file = new URL('../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
