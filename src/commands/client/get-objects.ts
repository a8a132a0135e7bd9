/** ConfigMaps, Secrets and claims of manifests, as `statelet get` shows them: in the columns of kubectl. */
import { compareTexts } from '../../agent/policies/formats/text-order.ts';
import { StateletError } from '../../types/errors.ts';
import type { ConfigMap, PersistentVolumeClaim, Secret } from '../../types/kubernetes.ts';
import { ageText } from '../pod-row.ts';
import { formatTable } from '../table.ts';
import { parsePodName } from './chosen-pod.ts';
import type { DaemonConnection } from './daemon-connection.ts';
import {
  documentOf,
  type GetFlags,
  type GetOutput,
  isDocument,
  isWithin,
  labelCells,
  labelHeads,
  noResources,
  sortedObjects,
} from './get-output.ts';
import { labelSelector } from './label-selector.ts';
import { kindOf, type NamedObjects, type ObjectType } from './named-objects.ts';

/** With the values of Secrets left out. */
export type ShownObject = { readonly kind: string } & ConfigMap & Secret & PersistentVolumeClaim;

/** Rejects with `NotFound` for one that is not there. */
export async function getObjects(
  daemon: DaemonConnection,
  { type, names }: NamedObjects,
  flags: GetFlags,
  { write, tell }: GetOutput,
  nowMs: number,
): Promise<void> {
  if (flags.watch === true || flags.watchOnly === true)
    throw new StateletError('InvalidArgument', `--watch: only pods can be watched, not ${type}`);
  if (flags.fieldSelector !== undefined)
    throw new StateletError('InvalidArgument', `--field-selector: only pods have such fields, not ${type}`);
  const found = await sortedObjects(await foundObjects(daemon, { type, names }, flags), flags);
  const { output, headers } = flags;
  if (isDocument(output))
    write(await documentOf(found, output, { isSingle: names.length === 1, hasHeaders: headers !== false }));
  else if (found.length === 0) {
    if (names.length === 0) tell(noResources(flags));
  } else if (flags.output === 'name')
    write(found.map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata?.name ?? ''}\n`).join(''));
  else write(table(found, flags, nowMs));
}

/** Those that are named, as they are named, or all. Rejects with `NotFound` for one that is not there. */
export async function foundObjects(
  daemon: DaemonConnection,
  { type, names }: NamedObjects,
  flags: Pick<GetFlags, 'selector' | 'namespace' | 'allNamespaces' | 'ignoreNotFound'>,
): Promise<readonly ShownObject[]> {
  const { items } = await daemon.json<{ readonly items: readonly ShownObject[] }>('/objects');
  const ofKind = items.filter(({ kind }) => kind === kindOf(type));
  const isSelected = labelSelector(flags.selector);
  const wanted =
    names.length > 0
      ? named(ofKind, names, type, flags)
      : ofKind.filter((one) => isWithin(one, flags)).sort((a, b) => compareTexts(keyOf(a), keyOf(b)));
  return wanted.filter(({ metadata }) => isSelected(metadata?.labels));
}

function named(
  objects: readonly ShownObject[],
  names: readonly string[],
  type: ObjectType,
  flags: Pick<GetFlags, 'namespace' | 'ignoreNotFound'>,
): readonly ShownObject[] {
  return names.flatMap((text) => {
    const { namespace = 'default', name } = parsePodName(text, flags);
    const found = objects.filter((one) => keyOf(one) === `${namespace}/${name}`);
    if (found.length > 0 || flags.ignoreNotFound === true) return found;
    throw new StateletError('NotFound', `there is no "${name}" among the ${type} of namespace ${namespace}`);
  });
}

function keyOf({ metadata }: ShownObject): string {
  return `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;
}

function table(objects: readonly ShownObject[], flags: GetFlags, nowMs: number): string {
  const { allNamespaces, output, headers } = flags;
  const shown = objects.map(({ metadata, ...object }) => {
    const cells = {
      ...(allNamespaces === true && { NAMESPACE: metadata?.namespace ?? '' }),
      NAME: metadata?.name ?? '',
      ...cellsOf(object),
      // Few manifests say when they were made.
      AGE: ageText(metadata?.creationTimestamp, nowMs),
      ...(output === 'wide' &&
        object.kind === 'PersistentVolumeClaim' && { VOLUMEMODE: object.spec?.volumeMode ?? 'Filesystem' }),
    };
    return {
      names: Object.keys(cells),
      row: [...Object.values(cells), ...labelCells(metadata?.labels, flags)],
    };
  });
  const rows = shown.map(({ row }) => row);
  return formatTable(
    headers === false ? rows : [[...(shown[0]?.names ?? []), ...labelHeads(flags)], ...rows],
  );
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
    // A claim is a folder: there is no volume that has a name.
    VOLUME: '',
    CAPACITY: spec?.resources?.requests?.storage ?? '',
    'ACCESS MODES': accessModesText(spec?.accessModes),
    STORAGECLASS: spec?.storageClassName ?? '',
    VOLUMEATTRIBUTESCLASS: spec?.volumeAttributesClassName ?? '<unset>',
  };
}

/** `RWO,ROX`. */
export function accessModesText(modes: readonly string[] = []): string {
  return modes.map((mode) => SHORT_MODES[mode] ?? mode).join();
}

const SHORT_MODES: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};
