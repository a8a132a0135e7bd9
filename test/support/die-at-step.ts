/**
 * Loaded into a process with `--import`: the process is killed by SIGKILL at one step of its work on files below a folder. Steps are the calls that
 * change something there, and the start and the run of commands about it (mount, umount). A file that is being written is left half. Environment:
 *
 * DIE_BELOW   the folder DIE_AT      the step, counted from 1; without it the process lives DIE_STEPS   a file in which every step is recorded as a
 * line
 */
import childProcess from 'node:child_process';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const { DIE_BELOW: below = '', DIE_AT: at = '', DIE_STEPS: record } = process.env;

const CHANGES = [
  'chmod',
  'chown',
  'mkdir',
  'mkdtemp',
  'open',
  'rename',
  'rm',
  'rmdir',
  'symlink',
  'unlink',
  'writeFile',
] as const;

let steps = 0;

function step(what: string, dying: () => void = () => undefined): void {
  steps++;
  if (record !== undefined) fs.appendFileSync(record, `${what}\n`);
  if (String(steps) !== at) return;
  dying();
  process.kill(process.pid, 'SIGKILL');
}

const PLACE = /^\/proc\/\d+\/fd\/\d+/;

/** The path that an argument names, also by the number of an open folder. */
function pathOf(argument: unknown): string {
  if (typeof argument !== 'string' && !Buffer.isBuffer(argument)) return '';
  return argument.toString().replace(PLACE, (place) => {
    try {
      return fs.readlinkSync(place);
    } catch {
      return place;
    }
  });
}

const isBelow = (argument: unknown) => pathOf(argument).includes(below);

/** Opening something to read it changes nothing. */
function mayChange(flags: unknown): boolean {
  const { O_CREAT, O_RDWR, O_WRONLY } = fs.constants;
  return typeof flags === 'number'
    ? (flags & (O_CREAT | O_RDWR | O_WRONLY)) !== 0
    : flags !== undefined && flags !== 'r';
}

type Call = (...args: unknown[]) => unknown;
const promises = fs.promises as unknown as Record<(typeof CHANGES)[number], Call>;

if (below !== '') {
  for (const name of CHANGES) {
    const call = promises[name];
    promises[name] = (...args) => {
      if (!args.some(isBelow) || (name === 'open' && !mayChange(args[1]))) return call(...args);
      step(`${name} ${args.filter(isBelow).map(pathOf).join(' ')}`, () => halfDone(name, args));
      return name === 'open' ? watched(pathOf(args[0]), call(...args)) : call(...args);
    };
  }
  const { spawn } = childProcess as unknown as { spawn: Call };
  Object.assign(childProcess, {
    spawn: (command: string, args: readonly unknown[], ...rest: unknown[]) => {
      if (!args.some(isBelow)) return spawn(command, args, ...rest);
      step(`start ${command}`);
      const child = spawn(command, args, ...rest);
      step(`run ${command}`);
      return child;
    },
  });
  syncBuiltinESMExports();
}

/** A write into an open file is a step as well. */
async function watched(path: string, opening: unknown): Promise<fs.promises.FileHandle> {
  const handle = (await opening) as fs.promises.FileHandle;
  const write = handle.writeFile.bind(handle);
  handle.writeFile = (content, ...rest) => {
    step(`write ${path}`, () => fs.writeSync(handle.fd, half(content)));
    return write(content, ...rest);
  };
  return handle;
}

function halfDone(name: string, [path, content]: readonly unknown[]): void {
  if (name === 'writeFile' && typeof path === 'string') fs.writeFileSync(path, half(content));
}

function half(content: unknown): Buffer {
  const bytes = Buffer.from(content as string);
  return bytes.subarray(0, bytes.length / 2);
}
