/** `/logs`: the files of /var/log, as Go's FileServer serves them, and the logs of services. */
import { constants, type ReadStream, type Stats } from 'node:fs';
import { type FileHandle, open, readdir } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { basename, join, posix } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { byteRange, contentType, fileListing } from '../../policies/server/system-log-query.ts';
import { errnoCode } from '../../../system/system-errors.ts';
import type { NodeApi } from './node-api.ts';
import { askedQuery, serveServiceLogs, type SystemLogPlaces } from './system-log-queries.ts';
import { RequestError, type Route, type RouteRequest } from './route.ts';

const PLACES: SystemLogPlaces = { dir: '/var/log', journalctl: 'journalctl' };
const INDEX = 'index.html';
const NOSNIFF = { 'X-Content-Type-Options': 'nosniff' };
const SNIFFED_BYTES = 512;

export function systemLogRoutes(
  { isSystemLogQueryEnabled }: Pick<NodeApi, 'isSystemLogQueryEnabled'>,
  places: SystemLogPlaces = PLACES,
): readonly Route[] {
  const handle = async (request: RouteRequest, response: ServerResponse) => {
    const query = isSystemLogQueryEnabled ? await askedQuery(request, places) : undefined;
    const file = query?.files[0];
    if (query && query.services.length > 0) await serveServiceLogs(query, places, request, response);
    else await serveFile(places.dir, file ?? request.params['*'] ?? '', request, response);
  };
  return [{ path: '/logs/*', methods: ['GET'], handle }];
}

async function serveFile(
  dir: string,
  name: string,
  request: RouteRequest,
  response: ServerResponse,
): Promise<void> {
  const path = name.startsWith('/') ? name : `/${name}`;
  if (path.endsWith(`/${INDEX}`)) {
    redirect(response, './', request);
    return;
  }
  // A path that leads above the folder is taken as the folder, as in Go.
  const clean = posix.normalize(path).replace(/\/$/, '');
  const file = await openFile(join(dir, clean));
  try {
    const stats = await file.stat();
    const target = redirection(path, stats.isDirectory());
    if (target !== undefined) redirect(response, target, request);
    else if (stats.isDirectory()) await serveFolder(join(dir, clean), stats, request, response);
    else await sendFile(file, stats, request, response);
  } finally {
    await file.close();
  }
}

/** Folders end with a slash, files do not. */
function redirection(path: string, isFolder: boolean): string | undefined {
  if (isFolder === path.endsWith('/')) return undefined;
  const name = encodeURIComponent(basename(path));
  return isFolder ? `${name}/` : `../${name}`;
}

function redirect(response: ServerResponse, location: string, { query }: RouteRequest): void {
  const target = query === '' ? location : `${location}?${query}`;
  response.writeHead(301, { Location: target, 'Content-Length': 0 }).end();
}

async function serveFolder(
  folder: string,
  stats: Stats,
  request: RouteRequest,
  response: ServerResponse,
): Promise<void> {
  const index = await openFile(join(folder, INDEX)).catch(() => undefined);
  try {
    if (index) await sendFile(index, await index.stat(), request, response);
    else await sendListing(folder, stats, request, response);
  } finally {
    await index?.close();
  }
}

async function sendListing(
  folder: string,
  stats: Stats,
  request: RouteRequest,
  response: ServerResponse,
): Promise<void> {
  if (isUnchanged(request, stats)) {
    response.writeHead(304).end();
    return;
  }
  const entries = await readdir(folder, { withFileTypes: true });
  const body = fileListing(entries.map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() })));
  const headers = { 'Content-Type': 'text/html; charset=utf-8', 'Last-Modified': stats.mtime.toUTCString() };
  response.writeHead(200, { ...headers, 'Content-Length': Buffer.byteLength(body) }).end(body);
}

async function sendFile(
  file: FileHandle,
  stats: Stats,
  request: RouteRequest,
  response: ServerResponse,
): Promise<void> {
  if (!stats.isFile()) throw refusal(500, 'Internal Server Error');
  const dated = { 'Last-Modified': stats.mtime.toUTCString() };
  if (isUnchanged(request, stats)) {
    response.writeHead(304, dated).end();
    return;
  }
  const range = byteRange(rangeHeader(request, stats), stats.size);
  if (range === 'none') {
    throw new RequestError(416, 'invalid range: failed to overlap\n', {
      ...NOSNIFF,
      'Content-Range': `bytes */${stats.size}`,
    });
  }
  const { start, end } = range ?? { start: 0, end: stats.size - 1 };
  const type = contentType(await beginningOf(file));
  response.writeHead(range ? 206 : 200, {
    'Accept-Ranges': 'bytes',
    ...(range && { 'Content-Range': `bytes ${start}-${end}/${stats.size}` }),
    'Content-Length': end + 1 - start,
    'Content-Type': type,
    ...dated,
  });
  if (end < start) response.end();
  else await sendBytes(file.createReadStream({ start, end, autoClose: false }), end + 1 - start, response);
}

/** A file that became shorter meanwhile breaks the connection: the client would wait for the rest. */
async function sendBytes(content: ReadStream, length: number, response: ServerResponse): Promise<void> {
  try {
    await pipeline(content, response, { end: false });
    if (content.bytesRead === length) response.end();
    else response.destroy();
  } catch {
    response.destroy();
  }
}

function isUnchanged({ raw }: RouteRequest, { mtimeMs }: Stats): boolean {
  const since = Date.parse(raw.headers['if-modified-since'] ?? '');
  return Math.floor(mtimeMs / 1000) * 1000 <= since;
}

/** undefined: the client has another version of the file. */
function rangeHeader({ raw }: RouteRequest, { mtime }: Stats): string | undefined {
  const { range, 'if-range': ifRange } = raw.headers;
  return ifRange === undefined || ifRange === mtime.toUTCString() ? range : undefined;
}

async function beginningOf(file: FileHandle): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(SNIFFED_BYTES), 0, SNIFFED_BYTES, 0);
  return buffer.subarray(0, bytesRead);
}

/** Opened without waiting: at a named pipe the agent would be blocked until another process writes to it. */
async function openFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    throw refusalOf(errnoCode(error));
  }
}

function refusalOf(code: string | undefined): RequestError {
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
    case 'ERR_INVALID_ARG_VALUE': // A path with a null byte.
      return refusal(404, 'page not found');
    case 'EACCES':
    case 'EPERM':
      return refusal(403, 'Forbidden');
    default:
      return refusal(500, 'Internal Server Error');
  }
}

function refusal(status: number, words: string): RequestError {
  return new RequestError(status, `${status} ${words}\n`, NOSNIFF);
}
