/** Reads the manifests of a comparison, with the names of their pods. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { NODE_NAME } from './agent.ts';

export interface Manifest {
  /** The file's name without its ending. */
  readonly name: string;
  readonly file: string;
  /** The full names of its pods as static pods of the node. */
  readonly pods: readonly string[];
}

/** `only`: only the manifests whose names contain this text. */
export function readManifests(folder: string, only = ''): readonly Manifest[] {
  const files = readdirSync(folder).filter((file) => ['.yaml', '.yml', '.json'].includes(extname(file)));
  return files
    .toSorted()
    .map((file) => ({
      name: basename(file, extname(file)),
      file: join(folder, file),
      pods: podsOf(readFileSync(join(folder, file), 'utf8')),
    }))
    .filter(({ name }) => name.includes(only));
}

/** Fields of KubeletConfiguration, without its header. Throws an error that names the file. */
export function readConfig(file: string): Readonly<Record<string, unknown>> {
  const fields: unknown = parse(readFileSync(file, 'utf8'));
  if (typeof fields === 'object' && fields !== null) return fields as Readonly<Record<string, unknown>>;
  throw new Error(`${file}: must be a map of fields of KubeletConfiguration`);
}

/** Empty if the text is not YAML. */
function podsOf(text: string): readonly string[] {
  return parseAllDocuments(text).flatMap((document) => {
    const content: unknown = document.errors.length === 0 ? document.toJS() : undefined;
    const { items = [content] } = (content ?? {}) as { items?: readonly unknown[] };
    return items.flatMap((item) => fullNameOf(item) ?? []);
  });
}

function fullNameOf(item: unknown): string | undefined {
  const { metadata } = (item ?? {}) as { metadata?: { name?: unknown; namespace?: unknown } };
  if (typeof metadata?.name !== 'string') return undefined;
  const { name, namespace = 'default' } = metadata;
  return `${String(namespace)}/${name}-${NODE_NAME}`;
}
