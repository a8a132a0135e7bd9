/** What `statelet get` writes, of whatever kind. */
import { readForeignFile } from '../../system/files/foreign-file.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import { canonicalJson } from '../../agent/policies/formats/canonical-json.ts';
import type { NamespaceFlags } from './chosen-pod.ts';
import type { FolderFlags } from './daemon-connection.ts';

/** Formats that show the objects themselves, not the cells of the table. */
export type DocumentFormat =
  | 'json'
  | 'yaml'
  | `jsonpath=${string}`
  | `jsonpath-as-json=${string}`
  | `jsonpath-file=${string}`
  | `custom-columns=${string}`;

export const FORMATS = [
  'wide',
  'json',
  'yaml',
  'name',
  'jsonpath=',
  'jsonpath-as-json=',
  'jsonpath-file=',
  'custom-columns=',
];

/** Formats that only kubectl has, and the nearest ones here. */
const NEAREST: Readonly<Record<string, string>> = {
  'go-template': 'jsonpath={.items[*].metadata.name} or custom-columns=NAME:.metadata.name',
  'go-template-file': 'jsonpath-file=FILE',
  template: 'jsonpath={.items[*].metadata.name} or custom-columns=NAME:.metadata.name',
  templatefile: 'jsonpath-file=FILE',
  'custom-columns-file': 'custom-columns=NAME:.metadata.name',
  kyaml: 'yaml',
};

/** Throws `InvalidArgument`. */
export function outputFormat(text: string): NonNullable<GetFlags['output']> {
  const isKnown = FORMATS.some((format) =>
    format.endsWith('=') ? text.startsWith(format) && text !== format : text === format,
  );
  if (isKnown) return text as NonNullable<GetFlags['output']>;
  const [name = ''] = text.split('=');
  const nearest = Object.hasOwn(NEAREST, name) ? NEAREST[name] : undefined;
  if (nearest !== undefined)
    throw new StateletError('InvalidArgument', `--output: ${name} is not there; write it as ${nearest}`);
  const all = FORMATS.map((format) => (format.endsWith('=') ? `${format}…` : format)).join(', ');
  throw new StateletError('InvalidArgument', `--output: "${text}" is none of ${all}`);
}

export function isDocument(output: GetFlags['output']): output is DocumentFormat {
  return output !== undefined && output !== 'wide' && output !== 'name';
}

export interface GetFlags extends FolderFlags, NamespaceFlags {
  readonly allNamespaces?: boolean;
  readonly selector?: string;
  readonly watch?: boolean;
  readonly watchOnly?: boolean;
  readonly output?: 'wide' | 'name' | DocumentFormat;
  readonly fieldSelector?: string;
  readonly sortBy?: string;
  readonly headers?: boolean;
  readonly showLabels?: boolean;
  /** Keys of labels. */
  readonly labelColumns?: readonly string[];
  readonly ignoreNotFound?: boolean;
}

export interface GetOutput {
  readonly write: (text: string) => void;
  /** A line for people, on standard error. */
  readonly tell: (line: string) => void;
}

export function noResources({ allNamespaces, namespace = 'default' }: WithinFlags): string {
  return allNamespaces === true ? 'No resources found' : `No resources found in ${namespace} namespace.`;
}

type Labels = Readonly<Record<string, string>>;
type LabelFlags = Pick<GetFlags, 'labelColumns' | 'showLabels'>;

/** The headings of the cells with labels, behind the others: `example.com/tier` is the column TIER. */
export function labelHeads({ labelColumns = [], showLabels }: LabelFlags): readonly string[] {
  const names = labelColumns.map((key) => key.slice(key.lastIndexOf('/') + 1).toUpperCase());
  return [...names, ...(showLabels === true ? ['LABELS'] : [])];
}

export function labelCells(
  labels: Labels = {},
  { labelColumns = [], showLabels }: LabelFlags,
): readonly string[] {
  const values = labelColumns.map((key) => (Object.hasOwn(labels, key) ? (labels[key] ?? '') : ''));
  return [...values, ...(showLabels === true ? [labelsOf(labels)] : [])];
}

function labelsOf(labels: Labels): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return pairs.length === 0 ? '<none>' : pairs.sort().join();
}

type WithinFlags = Pick<GetFlags, 'allNamespaces' | 'namespace'>;

/** Whether it is of the namespaces that are asked for. */
export function isWithin(
  { metadata }: { readonly metadata?: { readonly namespace?: string } },
  { allNamespaces, namespace = 'default' }: WithinFlags,
): boolean {
  return allNamespaces === true || metadata?.namespace === namespace;
}

/** In the order of `--sort-by`, or as they are. */
export async function sortedObjects<T>(objects: readonly T[], { sortBy }: GetFlags): Promise<readonly T[]> {
  return sortBy === undefined
    ? objects
    : (await import('./json-path/sort-objects.ts')).sortedBy(objects, sortBy);
}

/** `isSingle`: one was named, and is written by itself, not in a list. `hasHeaders`: of custom columns. */
export async function documentOf(
  items: readonly object[],
  output: DocumentFormat,
  { isSingle, hasHeaders = true }: { readonly isSingle: boolean; readonly hasHeaders?: boolean },
): Promise<string> {
  const [, format, template = ''] =
    /^(custom-columns|jsonpath(?:-as-json|-file)?)=(.*)$/su.exec(output) ?? [];
  if (format === 'custom-columns') {
    const { columnsTable, customColumns } = await import('./json-path/custom-columns.ts');
    return columnsTable(customColumns(template), items, hasHeaders);
  }
  const [only] = items;
  const whole = isSingle
    ? only
    : { apiVersion: 'v1', items, kind: 'List', metadata: { resourceVersion: '' } };
  if (whole === undefined) return '';
  if (format === undefined) return written(whole, output as 'json' | 'yaml');
  const { jsonPathTemplate, jsonPathValues } = await import('./json-path/json-path-template.ts');
  if (format === 'jsonpath') return jsonPathTemplate(template)(whole);
  if (format === 'jsonpath-file') return jsonPathTemplate(await templateIn(template))(whole);
  return `${JSON.stringify(jsonPathValues(template)(whole), null, 4)}\n`;
}

/** A longer one is no template. */
const TEMPLATE_BYTES_MAX = 1024 * 1024;

async function templateIn(file: string): Promise<string> {
  try {
    const { content } = await readForeignFile(file, { bytesMax: TEMPLATE_BYTES_MAX, waitsForPipe: true });
    return content.toString();
  } catch (error) {
    throw new StateletError('InvalidArgument', `-o jsonpath-file: ${errorMessage(error)}`, { cause: error });
  }
}

/** With its members in the order of their names, as kubectl has them. */
async function written(value: object, output: 'json' | 'yaml'): Promise<string> {
  const sorted: unknown = JSON.parse(canonicalJson(value));
  if (output === 'json') return `${JSON.stringify(sorted, null, 4)}\n`;
  return (await import('../to-yaml.ts')).toYAML(sorted);
}
