/** ConfigMaps, Secrets and claims of manifests, as `kubectl describe` shows them. */
import { oneLine, printable } from '../../agent/policies/formats/terminal-text.ts';
import { compareTexts } from '../../agent/policies/formats/text-order.ts';
import type { Pod } from '../../types/kubernetes.ts';
import {
  annotationLines,
  given,
  listLines,
  pairLines,
  sortedEntries,
  withEvents,
} from './described-parts.ts';
import { accessModesText, type ShownObject } from './get-objects.ts';
import { tabbedText } from './tabbed-text.ts';

/** `pods`: those that may use it. */
export function describedObject(object: ShownObject, pods: readonly Pod[], showEvents: boolean): string {
  // There are none of such objects.
  const events = showEvents ? [] : undefined;
  switch (object.kind) {
    case 'ConfigMap':
      return `${tabbedText(headLines(object))}${configMapText(object)}${withEvents([], events, 0)}`;
    case 'Secret':
      return tabbedText([...headLines(object), ...secretLines(object)]);
    default:
      return withEvents(claimLines(object, pods), events, 0);
  }
}

function headLines({ metadata }: ShownObject): readonly string[] {
  return [
    `Name:\t${metadata?.name ?? ''}`,
    `Namespace:\t${metadata?.namespace ?? ''}`,
    ...pairLines('Labels', metadata?.labels),
    ...annotationLines(metadata?.annotations),
  ];
}

/** The values are whole, with their lines. */
function configMapText({ data = {}, binaryData = {} }: ShownObject): string {
  const texts = sortedEntries(data).map(([key, value]) => `${oneLine(key)}:\n----\n${printable(value)}\n\n`);
  const sizes = sortedEntries(binaryData).map(
    ([key, value]) => `${oneLine(key)}: ${Buffer.from(value, 'base64').length} bytes\n`,
  );
  return `\nData\n====\n${texts.join('')}\nBinaryData\n====\n${sizes.join('')}\n`;
}

/** The daemon keeps their values to itself. */
function secretLines({ type = 'Opaque', data = {} }: ShownObject): readonly string[] {
  const values = sortedEntries(data).map(([key, value]) => `${oneLine(key)}:\t${value}`);
  return ['', `Type:\t${type}`, '', 'Data', '====', ...values];
}

function claimLines({ metadata, spec }: ShownObject, pods: readonly Pod[]): readonly string[] {
  const name = metadata?.name ?? '';
  const users = pods.filter(
    (pod) =>
      pod.metadata.namespace === metadata?.namespace &&
      pod.spec.volumes?.some(({ persistentVolumeClaim: claim }) => claim?.claimName === name),
  );
  return [
    `Name:\t${name}`,
    `Namespace:\t${metadata?.namespace ?? ''}`,
    `StorageClass:\t${spec?.storageClassName ?? ''}`,
    'Status:\tBound',
    ...pairLines('Labels', metadata?.labels),
    ...annotationLines(metadata?.annotations),
    `Capacity:\t${spec?.resources?.requests?.storage ?? ''}`,
    `Access Modes:\t${accessModesText(spec?.accessModes)}`,
    ...given('VolumeMode', spec?.volumeMode),
    ...listLines('Used By', users.map((pod) => pod.metadata.name).sort(compareTexts)),
  ];
}
