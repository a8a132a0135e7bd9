/** `-o custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[*].image`, and the paths that `--sort-by` takes. */
import { invalid } from '../../../types/errors.ts';
import { formatTable } from '../../table.ts';
import { type Path, parsePath, valuesAt } from './json-path.ts';

export interface CustomColumns {
  readonly names: readonly string[];
  readonly row: (object: unknown) => readonly string[];
}

/** Throws `InvalidArgument`. */
export function customColumns(text: string): CustomColumns {
  const columns = text.split(',').map((column) => {
    const [, name = '', path = ''] = /^([^:]+):(.+)$/su.exec(column) ?? [];
    if (path === '')
      throw invalid(`-o custom-columns: "${column}" is not of the form NAME:PATH, as NAME:.metadata.name`);
    return { name, path: relaxedPath(path, '-o custom-columns') };
  });
  return {
    names: columns.map(({ name }) => name),
    row: (object) => columns.map(({ path }) => cell(valuesAt(path, object))),
  };
}

/** `{.a}`, `.a` and `a` are the same here. */
export function relaxedPath(text: string, flag: string): Path {
  const [, inner = text] = /^\{(.*)\}$/su.exec(text.trim()) ?? [];
  return parsePath(inner.trim(), flag);
}

export function columnsTable(
  { names, row }: CustomColumns,
  objects: readonly unknown[],
  hasHeaders: boolean,
): string {
  const rows = objects.map(row);
  return formatTable(hasHeaders ? [names, ...rows] : rows);
}

function cell(values: readonly unknown[]): string {
  if (values.length === 0) return '<none>';
  return values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join();
}
