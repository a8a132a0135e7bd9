/** The files of the downward API. */
import type { Pod } from '../../types/kubernetes.ts';
import { StateletError } from '../../types/errors.ts';
import { fileFieldValue } from './downward-fields.ts';
import { resourceFieldValue } from './downward-resources.ts';
import type { ResourceList } from '../pod/resources.ts';
import { type CollectedFiles, wholeFiles } from './collected-files.ts';
import { cleanPath, type VolumeFile } from './projected-files.ts';
import type { VolumeProjection } from './volume-source.ts';

type Item = NonNullable<NonNullable<VolumeProjection['downwardAPI']>['items']>[number];

/** Values of fields by their paths, while the pod is as it is: many items may show all labels. */
export type FieldValues = Map<string, string>;

/** Throws a StateletError of kind InvalidArgument that tells all items whose field or resource does not exist. */
export function downwardAPIFiles(
  pod: Pod,
  items: readonly Item[],
  defaultMode: number,
  allocatable: ResourceList,
  fields?: FieldValues,
): readonly VolumeFile[] {
  return wholeFiles(collectDownwardAPI(pod, items, defaultMode, allocatable, fields));
}

/** An item whose field or resource does not exist has an empty file. */
export function collectDownwardAPI(
  pod: Pod,
  items: readonly Item[],
  defaultMode: number,
  allocatable: ResourceList,
  fields: FieldValues = new Map(),
): CollectedFiles {
  const files: VolumeFile[] = [];
  const problems: unknown[] = [];
  for (const item of items) {
    let content = '';
    try {
      content = itemContent(pod, item, allocatable, fields);
    } catch (error) {
      problems.push(error);
    }
    files.push({ path: cleanPath(item.path), content, mode: item.mode ?? defaultMode });
  }
  return { files, problems };
}

/** As with the kubelet, an item that says nothing has an empty file. The rules for volumes refuse such an item before. */
function itemContent(
  pod: Pod,
  { path, fieldRef, resourceFieldRef }: Item,
  allocatable: ResourceList,
  fields: FieldValues,
): string {
  if (fieldRef) {
    const { fieldPath } = fieldRef;
    const value = fields.get(fieldPath) ?? fileFieldValue(pod, fieldPath);
    fields.set(fieldPath, value);
    return value;
  }
  const [owner] = pod.spec.containers;
  if (!resourceFieldRef || !owner) return '';
  if (!resourceFieldRef.containerName) {
    throw new StateletError('InvalidArgument', `item ${path}: resourceFieldRef must have containerName`);
  }
  return resourceFieldValue(pod, owner, resourceFieldRef, allocatable);
}
