/** ConfigMaps, Secrets and claims of manifests, as `statelet get` shows them: in the columns of kubectl. */
import { StateletError } from '../../types/errors.ts';
import type { ConfigMap, PersistentVolumeClaim, Secret } from '../../types/kubernetes.ts';
import { formatTable } from '../table.ts';
import { parsePodName } from './chosen-pod.ts';
import type { DaemonConnection } from './daemon-connection.ts';
import {
  documentOf,
  type GetFlags,
  type GetOutput,
  isDocument,
  labelsOf,
  noResources,
  sortedObjects,
} from './get-output.ts';
import { labelSelector } from './label-selector.ts';
import { kindOf, type NamedObjects, type ObjectType } from './named-objects.ts';

/** With the values of Secrets left out. */
type ShownObject = { readonly kind: string } & ConfigMap & Secret & PersistentVolumeClaim;

/** Rejects with `NotFound` for one that is not there. */
export async function getObjects(
  daemon: DaemonConnection,
  { type, names }: NamedObjects,
  flags: GetFlags,
  { write, tell }: GetOutput,
): Promise<void> {
  if (flags.watch === true || flags.watchOnly === true)
    throw new StateletError('InvalidArgument', `--watch: only pods can be watched, not ${type}`);
  if (flags.fieldSelector !== undefined)
    throw new StateletError('InvalidArgument', `--field-selector: only pods have such fields, not ${type}`);
  const { items } = await daemon.json<{ readonly items: readonly ShownObject[] }>('/objects');
  const ofKind = items.filter(({ kind }) => kind === kindOf(type));
  const isSelected = labelSelector(flags.selector);
  const inOrder = (
    names.length > 0 ? named(ofKind, names, type, flags) : ofKind.filter((one) => isWithin(one, flags))
  )
    .filter(({ metadata }) => isSelected(metadata?.labels))
    .toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const found = await sortedObjects(inOrder, flags);
  const { output, headers } = flags;
  if (isDocument(output))
    write(await documentOf(found, output, { isSingle: names.length === 1, hasHeaders: headers !== false }));
  else if (found.length === 0) {
    if (names.length === 0) tell(noResources(flags));
  } else if (flags.output === 'name')
    write(found.map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata?.name ?? ''}\n`).join(''));
  else write(table(found, flags));
}

function named(
  objects: readonly ShownObject[],
  names: readonly string[],
  type: ObjectType,
  flags: GetFlags,
): readonly ShownObject[] {
  return names.flatMap((text) => {
    const { namespace = 'default', name } = parsePodName(text, flags);
    const found = objects.filter((one) => keyOf(one) === `${namespace}/${name}`);
    if (found.length > 0 || flags.ignoreNotFound === true) return found;
    throw new StateletError('NotFound', `there is no "${name}" among the ${type} of namespace ${namespace}`);
  });
}

function isWithin({ metadata }: ShownObject, { allNamespaces, namespace = 'default' }: GetFlags): boolean {
  return allNamespaces === true || metadata?.namespace === namespace;
}

function keyOf({ metadata }: ShownObject): string {
  return `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;
}

/** Manifests do not say when they were written. */
const AGE = '<unknown>';

function table(objects: readonly ShownObject[], flags: GetFlags): string {
  const rows = objects.map((object) => {
    const cells = cellsOf(object);
    return {
      NAMESPACE: object.metadata?.namespace ?? '',
      NAME: object.metadata?.name ?? '',
      ...cells,
      AGE,
      LABELS: labelsOf(object.metadata?.labels),
    };
  });
  const columns = Object.keys(rows[0] ?? {}).filter(
    (column) =>
      (column !== 'NAMESPACE' || flags.allNamespaces === true) &&
      (column !== 'LABELS' || flags.showLabels === true),
  );
  const lines = rows.map((row: Readonly<Record<string, string>>) =>
    columns.map((column) => row[column] ?? ''),
  );
  return formatTable(flags.headers === false ? lines : [columns, ...lines]);
}

function cellsOf({
  kind,
  type = 'Opaque',
  data = {},
  binaryData = {},
  spec,
}: ShownObject): Record<string, string> {
  const count = String(Object.keys(data).length + Object.keys(binaryData).length);
  if (kind === 'ConfigMap') return { DATA: count };
  if (kind === 'Secret') return { TYPE: type, DATA: count };
  return {
    STATUS: 'Bound',
    CAPACITY: spec?.resources?.requests?.storage ?? '',
    'ACCESS MODES': (spec?.accessModes ?? []).map((mode) => SHORT_MODES[mode] ?? mode).join(),
  };
}

const SHORT_MODES: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};
