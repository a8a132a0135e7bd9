import type { ProbeManagerParts } from '../../src/agent/actors/probes/probe-manager.ts';

/** A node for probes: all its pods have the address of this machine, and nothing is stored about them. */
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
