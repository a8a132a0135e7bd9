/** Reads files that others may replace, also by what blocks a process that opens or reads it: a pipe, a device, a file of the kernel. */
import { type BigIntStats, constants } from 'node:fs';
import { type FileHandle, open, statfs } from 'node:fs/promises';
import { StateletError } from '../../types/errors.ts';
import { patientCalls } from './patient-calls.ts';
import { O_PATH, type Opened, placeOf, withRealPath } from './open-place.ts';

interface ForeignFile {
  readonly content: Buffer;
  readonly stats: BigIntStats;
}

/** What stands at the path might block a process that opens or reads it. */
export class NotPlainError extends StateletError {
  constructor(message: string) {
    super('FailedPrecondition', message);
  }
}

interface OpeningOptions {
  /** Whether a link at the path leads to the file. Default: yes. */
  readonly followsLinks?: boolean;
  /** Whether to wait for what others write to a pipe: for a command whose user names one, such as `<(program)` in a shell. */
  readonly waitsForPipe?: boolean;
}

interface ReadingOptions extends OpeningOptions {
  /** A larger file is refused. */
  readonly bytesMax: number;
}

const MIB = 1024 * 1024;
const CHUNK_BYTES = 64 * 1024;
/** Of proc, tracefs and debugfs: their files have no size, and reading one may wait for what happens next, and take it from others. */
const ENDLESS_FILESYSTEMS: ReadonlySet<number> = new Set([0x9fa0, 0x7472_6163, 0x6462_6720]);

/**
 * The whole file. Nothing but a plain file is opened: to open a pipe waits for another process, and to open a device may do anything.
 * Rejects with the system's error, and with `FailedPrecondition` that says why the file is not read, as the end of a sentence about it.
 */
export async function readForeignFile(path: string | Buffer, options: ReadingOptions): Promise<ForeignFile> {
  return atPlace(path, options, (place) => readOpenedFile(place, options));
}

/** Opens the file for reading, on the same conditions. The caller closes it. */
export function openForeignFile(path: string | Buffer, options: OpeningOptions = {}): Promise<FileHandle> {
  return atPlace(path, options, async (place) => {
    const stats = await place.stat({ bigint: true });
    if (isNamedPipe(stats, options)) return open(placeOf(place), constants.O_RDONLY);
    await refuseOthers(place, stats);
    return openForReading(place);
  });
}

/** As `readForeignFile`, of what was opened with O_PATH. */
export async function readOpenedFile(
  place: FileHandle,
  { bytesMax, waitsForPipe }: Pick<ReadingOptions, 'bytesMax' | 'waitsForPipe'>,
): Promise<ForeignFile> {
  const stats = await place.stat({ bigint: true });
  if (isNamedPipe(stats, { waitsForPipe })) return { content: await readPipe(place, bytesMax), stats };
  await refuseOthers(place, stats);
  if (stats.size > bytesMax) throw tooLarge(bytesMax);
  const file = await openForReading(place);
  try {
    return { content: await readToEnd(file, Number(stats.size), bytesMax), stats };
  } finally {
    await file.close();
  }
}

async function atPlace<T>(
  path: string | Buffer,
  { followsLinks = true }: OpeningOptions,
  work: (place: FileHandle) => Promise<T>,
): Promise<T> {
  const place = await open(path, O_PATH | (followsLinks ? 0 : constants.O_NOFOLLOW));
  try {
    return await work(place);
  } catch (error) {
    throw withRealPath(error);
  } finally {
    await place.close();
  }
}

function openForReading(place: Opened): Promise<FileHandle> {
  return open(placeOf(place), constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
}

async function readPipe(place: Opened, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  // The stream closes the file.
  for await (const chunk of (await open(placeOf(place), constants.O_RDONLY)).createReadStream()) {
    chunks.push(chunk as Buffer);
    length += (chunk as Buffer).length;
    if (length > bytesMax) throw tooLarge(bytesMax);
  }
  return Buffer.concat(chunks, length);
}

/** `size`: what is expected. The file may grow meanwhile. */
async function readToEnd(file: FileHandle, size: number, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  // One byte more than expected, so that the first read shows the end.
  let chunk = Buffer.allocUnsafeSlow(size + 1);
  for (let length = 0; ; chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES)) {
    const { bytesRead } = await file.read(chunk, 0, chunk.length, length);
    chunks.push(chunk.subarray(0, bytesRead));
    length += bytesRead;
    if (length > bytesMax) throw tooLarge(bytesMax);
    if (bytesRead === 0 || (length === size && size > 0)) return Buffer.concat(chunks, length);
  }
}

async function refuseOthers(place: Opened, stats: BigIntStats): Promise<void> {
  if (!stats.isFile()) throw new NotPlainError(`is not a file but ${kindOf(stats)}`);
  if (stats.size === 0n && ENDLESS_FILESYSTEMS.has((await statfs(placeOf(place))).type))
    throw new NotPlainError('has no end: its reader would wait for what is written next');
}

function isNamedPipe(
  stats: BigIntStats,
  { waitsForPipe = false }: { waitsForPipe?: boolean | undefined },
): boolean {
  return waitsForPipe && stats.isFIFO();
}

function kindOf(stats: BigIntStats): string {
  if (stats.isDirectory()) return 'a folder';
  if (stats.isFIFO()) return 'a named pipe';
  if (stats.isSocket()) return 'a socket';
  return stats.isSymbolicLink() ? 'a link' : 'a device';
}

function tooLarge(bytesMax: number): StateletError {
  const limit = bytesMax >= MIB ? `${bytesMax / MIB} MiB` : `${bytesMax} bytes`;
  return new StateletError('FailedPrecondition', `is larger than ${limit}`);
}

interface ProvidedReadingOptions {
  /** Default: 1 MiB. */
  readonly bytesMax?: number;
  /** Default: that of `patientCalls`. */
  readonly deadlineMs?: number | undefined;
}

/** The text of a file that an operator provides, of which a file system elsewhere may never answer. */
export async function readProvidedFile(
  path: string,
  { bytesMax = MIB, deadlineMs }: ProvidedReadingOptions = {},
): Promise<string> {
  const read = () => readForeignFile(path, { bytesMax });
  return (await patientCalls.call(path, read, deadlineMs)).content.toString();
}
