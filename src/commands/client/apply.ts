/** `statelet apply`: writes manifests into the folder from which the daemon takes its pods. */
import { text } from 'node:stream/consumers';
import type { AppliedObject } from '../../agent/server/routes/apply-routes.ts';
import { eachOf } from '../../system/promises.ts';
import { errorMessage, invalid, StateletError } from '../../types/errors.ts';
import type { NamespaceFlags } from './chosen-pod.ts';
import { type DaemonConnection, type FolderFlags, withDaemon } from './daemon-connection.ts';
import { type InputFlags, manifestDocuments } from './manifest-input.ts';
import type { ManifestDocument } from './parsed-documents.ts';

export interface ApplyFlags extends FolderFlags, NamespaceFlags, InputFlags {
  readonly dryRun?: 'none' | 'client' | 'server' | true;
  readonly output?: 'name';
}

/** The daemon answers when it has noticed the file: several documents are noticed together. */
const AT_ONCE = 16;

/** Writes a line for each object, in the order of the documents. Rejects when all have been tried, with what was wrong with some. */
export async function apply(flags: ApplyFlags, write: (text: string) => void): Promise<void> {
  if (flags.filename === undefined)
    throw invalid('say what to apply: -f FILE, -f FOLDER, -f URL, or -f - for standard input');
  const documents = await manifestDocuments(flags, flags.namespace);
  const isDryRun = flags.dryRun !== undefined && flags.dryRun !== 'none';
  await withDaemon(flags, async (daemon) => {
    const output = new InOrder(write);
    const problems = new Map<number, string>();
    const repeated = await repeatedIn(documents);
    await eachOf(documents.entries(), AT_ONCE, async ([index, document]) => {
      try {
        const others = repeated.get(index);
        if (others !== undefined) throw invalid(others);
        output.add(index, lineOf(await applied(daemon, document, isDryRun), flags));
      } catch (error) {
        output.add(index, '');
        const lines = errorMessage(error).split('\n');
        problems.set(index, lines.map((line) => `${document.place}: ${line}`).join('\n'));
      }
    });
    const [first, ...more] = documents.flatMap((_, index) => problems.get(index) ?? []);
    if (first !== undefined) throw new StateletError('FailedPrecondition', [first, ...more].join('\n'));
  });
}

/** Of documents that have one object none is applied: which of them should count cannot be known. By their numbers, in words. */
async function repeatedIn(documents: readonly ManifestDocument[]): Promise<ReadonlyMap<number, string>> {
  if (documents.length < 2) return new Map();
  const { objectOf } = await import('./parsed-documents.ts');
  const named = documents.flatMap((document, index) => {
    const object = objectOf(document);
    return object === undefined ? [] : [{ object, place: document.place, index }];
  });
  const several = [...Map.groupBy(named, ({ object }) => object).values()].filter((own) => own.length > 1);
  return new Map(
    several.flatMap((own) =>
      own.map(({ object, index }) => {
        const others = own.filter((one) => one.index !== index).map(({ place }) => place);
        return [index, `${object} is in ${others.join(' and in ')} too: none of them is applied`] as const;
      }),
    ),
  );
}

async function applied(
  daemon: DaemonConnection,
  document: ManifestDocument,
  dryRun: boolean,
): Promise<AppliedObject> {
  const body = Buffer.from(document.text);
  const headers = { 'Content-Type': 'application/yaml', 'Content-Length': String(body.length) };
  const response = await daemon.request(`/manifests?dryRun=${dryRun}`, { method: 'PUT', headers, body });
  return JSON.parse(await text(response)) as AppliedObject;
}

function lineOf({ kind, name, outcome }: AppliedObject, { output, dryRun = 'none' }: ApplyFlags): string {
  const object = `${kind.toLowerCase()}/${name}`;
  if (output === 'name') return `${object}\n`;
  const mark = { none: '', client: ' (dry run)', server: ' (server dry run)' };
  return `${object} ${outcome}${mark[dryRun === true ? 'client' : dryRun]}\n`;
}

/** Writes lines that come in any order in that of their numbers. */
class InOrder {
  readonly #write: (text: string) => void;
  readonly #waiting = new Map<number, string>();
  #next = 0;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  add(number: number, line: string): void {
    this.#waiting.set(number, line);
    for (let next = this.#waiting.get(this.#next); next !== undefined; next = this.#waiting.get(this.#next)) {
      this.#waiting.delete(this.#next);
      this.#next += 1;
      if (next !== '') this.#write(next);
    }
  }
}
