import type { ProbeManagerParts } from '../../src/agent/actors/probes/probe-manager.ts';

/** What probes need of a node whose pods all have the address of this machine, and of which nothing is remembered. */
export const LOCAL_PODS: Pick<ProbeManagerParts, 'node' | 'pleg'> = {
  node: {
    podIP: () => '127.0.0.1',
    knownContainer: () => undefined,
    rememberContainer: () => Promise.resolve(),
  },
  pleg: {
    lastSeen: (uid) => ({ uid, name: '', namespace: '', sandboxes: [], containers: [], observedAt: 0 }),
  },
};
