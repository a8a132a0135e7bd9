import type { ContainerRecord, SandboxRecord } from '../../src/embedded/monitor/records.ts';
import { containerConfig, podConfig } from './runtime-configs.ts';

/** A ready sandbox of the embedded runtime. */
export function sandboxRecord(more: Partial<SandboxRecord> = {}): SandboxRecord {
  return {
    id: 'a'.repeat(64),
    config: podConfig('/logs'),
    createdAt: 1_000,
    state: 'SANDBOX_READY',
    ...more,
  };
}

/** A created container of that sandbox. */
export function containerRecord(more: Partial<ContainerRecord> = {}): ContainerRecord {
  return {
    id: 'c'.repeat(64),
    podSandboxId: 'a'.repeat(64),
    config: containerConfig(['sleep', '1000']),
    createdAt: 2_000,
    state: 'CONTAINER_CREATED',
    startedAt: 0,
    ...more,
  };
}
