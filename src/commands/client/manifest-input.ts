/** The manifests that `-f` names: files, folders, URLs, and `-` for standard input. Each document of them by itself. */
import { readdir, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { readForeignFile } from '../../system/files/foreign-file.ts';
import { bareStreams } from '../../system/terminal.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import type { ManifestDocument } from './parsed-documents.ts';

export interface InputFlags {
  readonly filename?: readonly string[];
  readonly recursive?: boolean;
}

const INPUT_BYTES_MAX = 10 * 1024 * 1024;
const DOWNLOAD_MS = 30_000;
/** Of a folder; a file that is named may be called as it likes. */
const EXTENSIONS = ['.json', '.yaml', '.yml'];

/** Rejects with `InvalidArgument` where something cannot be read, or there is nothing. `namespace`: for documents that name none. */
export async function manifestDocuments(
  { filename = [], recursive = false }: InputFlags,
  namespace?: string,
): Promise<readonly ManifestDocument[]> {
  const inputs: ManifestDocument[] = [];
  for (const name of filename) inputs.push(...(await inputsOf(name, recursive)));
  const documents: ManifestDocument[] = [];
  for (const input of inputs)
    for (const document of parts(input)) documents.push(...(await completed(document, namespace)));
  if (documents.length > 0) return documents;
  throw new StateletError('InvalidArgument', `-f: there is no manifest in ${filename.join(', ')}`);
}

async function inputsOf(name: string, recursive: boolean): Promise<readonly ManifestDocument[]> {
  try {
    if (name === '-') return [{ place: 'standard input', text: await textOf(bareStreams.stdin) }];
    if (/^https?:\/\//iu.test(name)) return [await downloaded(name)];
    if ((await stat(name)).isDirectory()) return await inputsIn(name, recursive);
    const { content } = await readForeignFile(name, { bytesMax: INPUT_BYTES_MAX, waitsForPipe: true });
    return [{ place: name, text: content.toString() }];
  } catch (error) {
    if (error instanceof StateletError && error.kind === 'InvalidArgument') throw error;
    throw new StateletError('InvalidArgument', `-f ${name}: ${errorMessage(error)}`, { cause: error });
  }
}

async function inputsIn(folder: string, recursive: boolean): Promise<readonly ManifestDocument[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries
    .filter((entry) => (entry.isDirectory() ? recursive : EXTENSIONS.includes(extname(entry.name))))
    .map((entry) => join(folder, entry.name));
  const inputs: ManifestDocument[] = [];
  for (const name of names.sort()) inputs.push(...(await inputsOf(name, recursive)));
  return inputs;
}

async function downloaded(url: string): Promise<ManifestDocument> {
  const response = await fetch(url, { signal: AbortSignal.timeout(DOWNLOAD_MS) });
  const { host, pathname } = new URL(url);
  if (!response.ok) throw new Error(`the server answers ${response.status}`);
  // Without what may be secret: user, password and query.
  return { place: `${host}${pathname}`, text: response.body === null ? '' : await textOf(response.body) };
}

async function textOf(stream: AsyncIterable<unknown>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > INPUT_BYTES_MAX) throw new Error('is larger than 10 MiB');
  }
  return Buffer.concat(chunks, length).toString();
}

/** Documents begin behind a line `---`, as kubectl parts them. Without those that have nothing but comments. */
function parts({ place, text }: ManifestDocument): readonly ManifestDocument[] {
  const texts = text.split(/^---(?:[ \t]*|[ \t]+#.*)\r?$/mu);
  return texts.flatMap((part, index) => {
    if (part.split('\n').every((line) => /^\s*(?:#|$)/u.test(line))) return [];
    return [{ place: texts.length > 1 ? `${place}, document ${index + 1}` : place, text: part }];
  });
}

const LISTS = /(?:^kind|"kind")\s*:\s*["']?\w*List\b/mu;

/** Lists become their items. YAML is read only where that is needed, and a text stays as it is otherwise. */
async function completed(
  document: ManifestDocument,
  namespace: string | undefined,
): Promise<readonly ManifestDocument[]> {
  if (namespace === undefined && !LISTS.test(document.text)) return [document];
  const { itemsOf } = await import('./parsed-documents.ts');
  return itemsOf(document, namespace);
}
