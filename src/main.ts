/**
 * Entry point; bin/statelet.js starts it after it has checked the version of Node. Whoever starts this file with an older one is told, too, before
 * anything is loaded that such a version does not have.
 */
import { keepCompiledCode } from './system/compiled-code.ts';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  // oxlint-disable-next-line house/one-output -- nothing else can be loaded here
  console.error(`statelet: needs Node 22.19 or newer, and this is ${process.version} (${process.execPath})`);
  process.exitCode = 1;
} else {
  keepCompiledCode(import.meta.dirname);
  // What is loaded from here on is kept.
  const { startProgram } = await import('./commands/command-line.ts');
  await startProgram(process.argv);
}
