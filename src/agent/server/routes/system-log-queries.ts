/** Queries of `/logs/`: the logs of services, from the journal or from files of the folder. */
import { asOneMessage } from '../../policies/formats/go-text.ts';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { posix } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { getSystemErrorMessage } from 'node:util';
import { constants as zlib, createGzip } from 'node:zlib';
import { formValues } from '../../policies/server/log-options.ts';
import {
  goList,
  hasOptions,
  journalArguments,
  onlyFile,
  queryProblems,
  serviceLogFiles,
  type SystemLogQuery,
  systemLogQuery,
} from '../../policies/server/system-log-query.ts';
import { placeInVolume } from '../../runtime/volumes/safe-open.ts';
import { placeOf } from '../../../system/files/open-place.ts';
import { errorKind, errorMessage, StateletError } from '../../../types/errors.ts';
import { NO_SNIFF, RequestError, type RouteRequest } from './route.ts';

export interface SystemLogPlaces {
  readonly dir: string;
  /** The command that shows the journal. */
  readonly journalctl: string;
  /** How long a query may take. Default: as long as with the kubelet. */
  readonly limitMs?: number;
}

/** As long as the kubelet lets a query take. */
const LIMIT_MS = 30_000;

/** Undefined: nothing is asked of the query, which is then one for a file by its path. Rejects with a RequestError. */
export async function askedQuery(
  request: RouteRequest,
  { dir }: SystemLogPlaces,
): Promise<SystemLogQuery | undefined> {
  const { query, problems } = systemLogQuery(formValues(request.query));
  if (problems.length > 0) throw refusal(400, asOneMessage(problems));
  if (query === undefined) return undefined;
  if (request.params['*']) throw refusal(406, 'path not allowed in query mode');
  const file = onlyFile(query);
  const wrong = queryProblems(query, file === undefined ? undefined : await fileProblem(dir, file));
  if (wrong.length > 0) throw refusal(406, asOneMessage(wrong));
  return query;
}

/** An error on the way is written into the answer, as the kubelet does it. */
export async function serveServiceLogs(
  query: SystemLogQuery,
  places: SystemLogPlaces,
  { raw }: RouteRequest,
  response: ServerResponse,
): Promise<void> {
  const isCompressed = raw.headers['accept-encoding'] === 'gzip';
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const signal = AbortSignal.any([gone.signal, AbortSignal.timeout(places.limitMs ?? LIMIT_MS)]);
  response.writeHead(200, {
    'Content-Type': 'text/plain;charset=UTF-8',
    ...(isCompressed && { 'Content-Encoding': 'gzip' }),
  });
  if (!isCompressed) {
    await writeLogs(query, places, response, signal);
    response.end();
    return;
  }
  const compressed = createGzip({ level: zlib.Z_BEST_SPEED });
  const sent = pipeline(compressed, response).catch(() => response.destroy());
  await writeLogs(query, places, compressed, signal);
  compressed.end();
  await sent;
}

async function writeLogs(
  query: SystemLogQuery,
  { dir, journalctl }: SystemLogPlaces,
  out: Writable,
  signal: AbortSignal,
): Promise<void> {
  const units = await journalUnits(journalctl, signal);
  const isOfJournal = (service: string) => units.includes(`${service}.service`);
  const ofJournal = query.services.filter(isOfJournal);
  const ofFiles = query.services.filter((service) => !isOfJournal(service));
  if (ofJournal.length > 0) {
    const isShown = await copyJournal(journalctl, journalArguments(query, ofJournal), out, signal);
    if (!isShown && (query.boot ?? 0n) === 0n) out.write('\nerror: journal output not available\n');
  }
  if (ofFiles.length > 0 && hasOptions(query)) {
    const found = `options present and query resolved to log files for ${goList(ofFiles)}`;
    out.write(`\n${found}\ntry without specifying options\n`);
    return;
  }
  for (const service of ofFiles) await copyServiceFile(service, dir, out, signal);
}

/** The units that have written to the journal; empty where there is none. */
async function journalUnits(journalctl: string, signal: AbortSignal): Promise<string> {
  const child = spawn(journalctl, ['--field', '_SYSTEMD_UNIT'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    signal,
    killSignal: 'SIGKILL',
  });
  try {
    const [units] = await Promise.all([text(child.stdout), once(child, 'close')]);
    return child.exitCode === 0 ? units : '';
  } catch {
    return '';
  }
}

/** False: the command cannot be started. */
async function copyJournal(
  journalctl: string,
  args: readonly string[],
  out: Writable,
  signal: AbortSignal,
): Promise<boolean> {
  const outputs: Readable[] = [];
  try {
    // Throws for arguments that no command can have: too long ones, or with a null byte.
    const child = spawn(journalctl, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      signal,
      killSignal: 'SIGKILL',
    });
    outputs.push(child.stdout, child.stderr);
    for (const output of outputs) output.pipe(out, { end: false });
    await once(child, 'close');
    return true;
  } catch {
    return signal.aborted;
  } finally {
    // After the time limit a slow client has not read all of it: the rest must not be written after the end of the answer.
    for (const output of outputs) output.unpipe(out).destroy();
  }
}

async function copyServiceFile(
  service: string,
  dir: string,
  out: Writable,
  signal: AbortSignal,
): Promise<void> {
  let problem = `log not found for ${service}`;
  for (const name of serviceLogFiles(service)) {
    try {
      signal.throwIfAborted();
      if (await copyFile(dir, name, out, signal)) return;
    } catch (error) {
      const why = signal.aborted ? 'context deadline exceeded' : `openat ${name}: ${problemOf(error)}`;
      problem = `error getting log for ${service}: ${why}`;
      break;
    }
  }
  out.write(`\n${problem}\n`);
}

/** False: there is no such file, or it is a folder. It is opened without waiting, as a named pipe would block the agent. */
async function copyFile(dir: string, name: string, out: Writable, signal: AbortSignal): Promise<boolean> {
  const place = await placeOfLog(dir, name);
  let file: FileHandle | undefined;
  try {
    const stats = await place?.stat();
    if (!place || !stats || stats.isDirectory()) return false;
    if (!stats.isFile()) throw new Error('is not a file');
    file = await open(placeOf(place), constants.O_RDONLY | constants.O_NONBLOCK);
    for await (const chunk of file.createReadStream({ autoClose: false }))
      if (!out.write(chunk)) await once(out, 'drain', { signal });
    return true;
  } finally {
    await Promise.all([file?.close(), place?.close()]);
  }
}

async function fileProblem(dir: string, name: string): Promise<string | undefined> {
  try {
    const place = await placeOfLog(dir, name);
    await place?.close();
    return place ? undefined : `statat ${name}: no such file or directory`;
  } catch (error) {
    return `statat ${name}: ${problemOf(error)}`;
  }
}

/** Undefined: it is not there. Rejects where it leads out of the folder. */
async function placeOfLog(dir: string, name: string): Promise<FileHandle | undefined> {
  if (/^\.\.(?:\/|$)/.test(posix.normalize(name)))
    throw new StateletError('FailedPrecondition', `${name} is outside of ${dir}`);
  return placeInVolume(dir, name.split('/'));
}

/** In Go's words where they are not those of Node. */
const WORDS: ReadonlyMap<string | undefined, string> = new Map([
  ['ENAMETOOLONG', 'file name too long'],
  ['ELOOP', 'too many levels of symbolic links'],
  ['ERR_INVALID_ARG_VALUE', 'invalid argument'],
]);

function problemOf(error: unknown): string {
  if (errorKind(error) === 'FailedPrecondition') return 'path escapes from parent';
  const { errno, code } = error as NodeJS.ErrnoException;
  return WORDS.get(code) ?? (errno === undefined ? errorMessage(error) : getSystemErrorMessage(errno));
}

function refusal(status: number, message: string): RequestError {
  return new RequestError(status, `${message}\n`, NO_SNIFF);
}
