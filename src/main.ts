/** Entry point; bin/statelet.js starts it after it has checked the version of Node. */
import { keepCompiledCode } from './system/compiled-code.ts';

keepCompiledCode(import.meta.dirname);
// What is loaded from here on is kept.
const { runProgram } = await import('./commands/command-line.ts');
const { endProcess } = await import('./system/run-command.ts');

process.exitCode = await runProgram(process.argv);
process.once('beforeExit', endProcess);
