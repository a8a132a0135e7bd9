/** A hash of a container's spec, which tells whether a running container was created from an older spec. */
import type { Container } from '../../types/kubernetes.ts';
import { canonicalJson } from '../formats/canonical-json.ts';

const FNV_OFFSET_BASIS = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * Hash of the fields whose change restarts a running container. As in the kubelet since 1.31 these are name and image (the
 * API lets only resources change besides, and those are resized in place). The kubelet hashes another spelling of the same
 * fields and gets other numbers, so a hash is only compared with one that we recorded. Hexadecimal.
 */
export function containerHash({ name, image }: Pick<Container, 'name' | 'image'>): string {
  return fnv1a32(canonicalJson({ name, image })).toString(16).padStart(8, '0');
}

/** FNV-1a over the UTF-8 bytes of `text`, unsigned. */
export function fnv1a32(text: string): number {
  const bytes = new TextEncoder().encode(text);
  return bytes.reduce((hash, byte) => Math.imul(hash ^ byte, FNV_PRIME), FNV_OFFSET_BASIS) >>> 0;
}
