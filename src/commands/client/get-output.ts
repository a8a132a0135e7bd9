/** What `statelet get` writes, of whatever kind. */
import { canonicalJson } from '../../agent/policies/formats/canonical-json.ts';
import type { NamespaceFlags } from './chosen-pod.ts';
import type { FolderFlags } from './daemon-connection.ts';

export interface GetFlags extends FolderFlags, NamespaceFlags {
  readonly allNamespaces?: boolean;
  readonly selector?: string;
  readonly watch?: boolean;
  readonly watchOnly?: boolean;
  readonly output?: 'wide' | 'json' | 'yaml' | 'name';
  readonly headers?: boolean;
  readonly showLabels?: boolean;
  readonly ignoreNotFound?: boolean;
}

export interface GetOutput {
  readonly write: (text: string) => void;
  /** A line for people, on standard error. */
  readonly tell: (line: string) => void;
}

export function noResources({ allNamespaces, namespace = 'default' }: GetFlags): string {
  return allNamespaces === true ? 'No resources found' : `No resources found in ${namespace} namespace.`;
}

export function labelsOf(labels: Readonly<Record<string, string>> = {}): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return pairs.length === 0 ? '<none>' : pairs.sort().join();
}

/** `isSingle`: one was named, and is written by itself, not in a list. */
export async function documentOf(
  items: readonly object[],
  isSingle: boolean,
  output: 'json' | 'yaml',
): Promise<string> {
  const [only] = items;
  if (!isSingle)
    return written({ apiVersion: 'v1', items, kind: 'List', metadata: { resourceVersion: '' } }, output);
  return only === undefined ? '' : written(only, output);
}

/** With its members in the order of their names, as kubectl has them. */
export async function written(value: object, output: 'json' | 'yaml'): Promise<string> {
  const sorted: unknown = JSON.parse(canonicalJson(value));
  if (output === 'json') return `${JSON.stringify(sorted, null, 4)}\n`;
  return (await import('../to-yaml.ts')).toYAML(sorted);
}
