/** The monitor of the embedded runtime, which hundreds of tests start from the sources, is started from one file. */
import childProcess from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import { fileURLToPath } from 'node:url';
import { bundled } from './bundled.ts';

const MONITOR = new URL('../../src/embedded/monitor/monitor.ts', import.meta.url);
const SOURCE = fileURLToPath(MONITOR);

type Spawn = (command: string, args: unknown, ...rest: unknown[]) => unknown;
const { spawn } = childProcess as unknown as { spawn: Spawn };

Object.assign(childProcess, {
  spawn: (command: string, args: unknown, ...rest: unknown[]) => {
    const isOfMonitor = command === process.execPath && Array.isArray(args) && args.includes(SOURCE);
    const given = isOfMonitor ? args.map((arg: unknown) => (arg === SOURCE ? bundled(MONITOR) : arg)) : args;
    return spawn(command, given, ...rest);
  },
});
syncBuiltinESMExports();
