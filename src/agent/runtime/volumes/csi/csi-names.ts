/** Names that are made of what a driver calls a volume. The API server and other agents make the same. */
import { createHash } from 'node:crypto';
import type { CsiSource } from '../../../policies/volumes/csi-source.ts';
import type { Pod } from '../../../../types/kubernetes.ts';

/** Of the VolumeAttachment. */
export function attachmentName(
  { driver, handle }: Pick<CsiSource, 'driver' | 'handle'>,
  nodeName: string,
): string {
  return `csi-${sha256(`${handle}${driver}${nodeName}`)}`;
}

/** How a driver knows a volume of the pod's own spec. */
export function inlineHandle({ metadata }: Pod, volume: { readonly name: string }): string {
  return `csi-${sha256(`${metadata.uid}${volume.name}`)}`;
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
