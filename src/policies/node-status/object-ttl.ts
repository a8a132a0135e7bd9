import type { Node } from '../../types/kubernetes.ts';

const ANNOTATION = 'node.alpha.kubernetes.io/ttl';

/** How long the control plane wants nodes to keep objects without asking again: more in a larger cluster. In ms. */
export function objectTTLOf({ metadata }: Node): number | undefined {
  const seconds = metadata.annotations?.[ANNOTATION] ?? '';
  return /^\d+$/u.test(seconds) ? Number(seconds) * 1000 : undefined;
}
