/** Prepares every test run: sources import the validators, which are generated. `dist/` is built by `built.ts`. */
import { generateStaleValidators } from '../../scripts/generate-validators.ts';
import { shareBundles } from '../../scripts/jest/bundled.ts';
import { keepFilesInMemory } from './files-in-memory.ts';

export default function setUp(): void {
  keepFilesInMemory();
  shareBundles();
  generateStaleValidators();
}
