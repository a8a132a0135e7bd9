import type { Container } from '../../src/types/kubernetes.ts';

/** Ends only when its grace period is over. A pod that has settled is deaf to SIGTERM already: the hook waits for that. */
export const STUBBORN: Partial<Container> = {
  command: ['sh', '-c', 'trap "" TERM; : > deaf; while :; do sleep 1; done'],
  lifecycle: { postStart: { exec: { command: ['sh', '-c', 'until [ -e deaf ]; do sleep 0.01; done'] } } },
};
