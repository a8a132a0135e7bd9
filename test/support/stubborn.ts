import type { Container } from '../../src/types/kubernetes.ts';

/** A container that ignores SIGTERM. The postStart hook waits until it does, so a settled pod ends only after its grace period. */
export const STUBBORN: Partial<Container> = {
  command: ['sh', '-c', 'trap "" TERM; : > deaf; while :; do sleep 1; done'],
  lifecycle: { postStart: { exec: { command: ['sh', '-c', 'until [ -e deaf ]; do sleep 0.01; done'] } } },
};
