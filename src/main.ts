/** Entry point; bin/statelet.js starts it after it has checked the version of Node. */
import { runProgram } from './commands/command-line.ts';
import { endProcess } from './system/run-command.ts';

process.exitCode = await runProgram(process.argv);
process.once('beforeExit', endProcess);
