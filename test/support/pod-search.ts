import type { PodSearch } from '../../src/agent/runtime/node/pod-node.ts';

/** A search that finds all pods of which something is on the node. */
export const ALL_PODS: PodSearch = { isKnown: () => false, isThorough: true };
