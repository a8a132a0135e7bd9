/** Entry point; started by bin/statelet.js, which has looked at the version of Node by then. */
import { runProgram } from './commands/command-line.ts';

process.exitCode = await runProgram(process.argv);
