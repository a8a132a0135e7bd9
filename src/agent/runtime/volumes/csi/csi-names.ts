/** Names that are computed from a volume's handle, as the kubelet and the controllers compute them. */
import { createHash } from 'node:crypto';
import type { CsiSource } from '../../../policies/volumes/csi-source.ts';
import type { Pod } from '../../../../types/kubernetes.ts';

/** The name of the VolumeAttachment. */
export function attachmentName(
  { driver, handle }: Pick<CsiSource, 'driver' | 'handle'>,
  nodeName: string,
): string {
  return `csi-${sha256(`${handle}${driver}${nodeName}`)}`;
}

/** The handle of an inline volume. */
export function inlineHandle({ metadata }: Pod, volume: { readonly name: string }): string {
  return `csi-${sha256(`${metadata.uid}${volume.name}`)}`;
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
