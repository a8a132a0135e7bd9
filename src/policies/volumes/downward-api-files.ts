/** The files of the downward API. */
import type { Pod } from '../../types/kubernetes.ts';
import { StateletError } from '../../types/errors.ts';
import { fieldValue } from './downward-fields.ts';
import { resourceFieldValue } from './downward-resources.ts';
import type { ResourceList } from '../pod/resources.ts';
import type { VolumeFile } from './projected-files.ts';
import type { VolumeProjection } from './volume-source.ts';

type Item = NonNullable<NonNullable<VolumeProjection['downwardAPI']>['items']>[number];

/** Fields that do not change while a container runs. The pod's addresses may change, so files cannot hold them. */
const FIELDS = ['metadata.name', 'metadata.namespace', 'metadata.uid'];
const MAPS: ReadonlyMap<string, 'labels' | 'annotations'> = new Map([
  ['metadata.labels', 'labels'],
  ['metadata.annotations', 'annotations'],
]);
const NO_ADDRESSES = { podIPs: [], hostIPs: [] };

/** Throws a StateletError of kind InvalidArgument for an item whose field or resource does not exist. */
export function downwardAPIFiles(
  pod: Pod,
  items: readonly Item[],
  defaultMode: number,
  allocatable: ResourceList,
): readonly VolumeFile[] {
  return items.map((item) => ({
    path: item.path,
    content: itemContent(pod, item, allocatable),
    mode: item.mode ?? defaultMode,
  }));
}

function itemContent(
  pod: Pod,
  { path, fieldRef, resourceFieldRef }: Item,
  allocatable: ResourceList,
): string {
  if (fieldRef) return fieldContent(pod, fieldRef.fieldPath);
  const owner = pod.spec.containers[0];
  if (!resourceFieldRef || !owner) {
    throw new StateletError('InvalidArgument', `item ${path} must have fieldRef or resourceFieldRef`);
  }
  if (!resourceFieldRef.containerName) {
    throw new StateletError('InvalidArgument', `item ${path}: resourceFieldRef must have containerName`);
  }
  return resourceFieldValue(pod, owner, resourceFieldRef, allocatable);
}

function fieldContent(pod: Pod, fieldPath: string): string {
  const map = MAPS.get(fieldPath);
  if (map) return mapContent(pod.metadata[map] ?? {});
  if (isVolumeFieldPath(fieldPath)) return fieldValue(pod, fieldPath, NO_ADDRESSES);
  throw new StateletError('InvalidArgument', `fieldPath ${fieldPath} ${UNSUPPORTED_FIELD_PATH}`);
}

/** The end of a sentence about a fieldPath. */
export const UNSUPPORTED_FIELD_PATH = `is not supported in a volume; there are: ${[...FIELDS, ...MAPS.keys()].join(', ')}, metadata.labels['KEY'], metadata.annotations['KEY']`;

export function isVolumeFieldPath(fieldPath: string): boolean {
  return (
    FIELDS.includes(fieldPath) ||
    MAPS.has(fieldPath) ||
    /^metadata\.(labels|annotations)\['.+'\]$/s.test(fieldPath)
  );
}

/** A line `key="value"` for each entry, sorted by key in bytes, without a line feed at the end. */
function mapContent(map: Readonly<Record<string, string>>): string {
  const keys = Object.keys(map).sort((a, b) => (a < b ? -1 : 1));
  return keys.map((key) => `${key}=${quoted(map[key] ?? '')}`).join('\n');
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '\\"'],
  ['\\', '\\\\'],
  ['\u0007', '\\a'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\v', '\\v'],
]);

/** As Go quotes a string: characters that cannot be printed are escaped. */
function quoted(text: string): string {
  const escaped = text.replaceAll(/["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, (character) => {
    const short = ESCAPES.get(character);
    if (short !== undefined) return short;
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x80) return `\\x${hex(code, 2)}`;
    return code < 0x1_0000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
  });
  return `"${escaped}"`;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}
