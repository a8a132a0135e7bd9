import { readFileSync } from 'node:fs';

/** The version of this package. Its package.json is one folder above src/ and above dist/. */
export function ownVersion(): string {
  const file = new URL('../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
