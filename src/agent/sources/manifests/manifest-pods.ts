/** Reads the pods and objects of a manifest. A large or an unusual one is read by a worker thread, so that it does not block the event loop. */
import { manifestPod, type ManifestPods } from '../pod-of-manifest.ts';
import type { ManifestOrigin } from '../source.ts';
import { type Manifest, parseManifest } from './read-manifest.ts';

/** Rejects only when `signal` aborts, which ends the thread. */
export async function readManifestPods(
  content: Uint8Array,
  origin: ManifestOrigin,
  signal?: AbortSignal,
): Promise<ManifestPods> {
  if (isReadInline(content)) return manifestPods(parseManifest(content, origin), origin);
  const { readInThread } = await import('./manifest-thread.ts');
  return readInThread(content, origin, signal);
}

function manifestPods({ pods, ...others }: Manifest, origin: ManifestOrigin): ManifestPods {
  return { ...others, pods: pods.map((pod) => manifestPod(pod, origin)) };
}

/** Which manifests are read in the event loop: small ones with no more special signs than an ordinary manifest. */

/** A manifest up to this size is read in less time than a thread takes to start. */
export const INLINE_BYTES_MAX = 8 * 1024;

/** The signs that cost the parser much, and how many of each kind an ordinary manifest of 8 KiB has at most. */
const SIGNS: readonly (readonly [signs: string, most: number])[] = [
  // Lines, and with them documents, comments, items and keys.
  ['\n\r', 700],
  // Tags, anchors, aliases, directives.
  ['!&*%', 100],
  ['[]{},', 1_200],
  ['"\'', 2_000],
  [':?', 1_500],
];

const KIND_OF_BYTE = SIGNS.reduce((kinds, [signs], kind) => {
  for (const sign of signs) kinds[sign.charCodeAt(0)] = kind + 1;
  return kinds;
}, new Uint8Array(256));

export function isReadInline(content: Uint8Array): boolean {
  if (content.length > INLINE_BYTES_MAX) return false;
  const counts = new Array<number>(SIGNS.length + 1).fill(0);
  for (const byte of content) {
    const kind = KIND_OF_BYTE[byte] ?? 0;
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return SIGNS.every(([, most], kind) => (counts[kind + 1] ?? 0) <= most);
}
