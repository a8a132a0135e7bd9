import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Engine } from '../../src/embedded/containers/engine.ts';
import { runtimeLayout, type RuntimeLayout } from '../../src/embedded/layout.ts';
import type { ContainerConfig } from '../../src/types/cri.ts';
import { podConfig } from './runtime-configs.ts';

/** The engine of the embedded runtime in the process of the test, without a monitor. */
export interface EngineBed {
  readonly layout: RuntimeLayout;
  readonly engine: Engine;
  /** Every event, as `TYPE id`. */
  readonly events: readonly string[];
  readonly messages: readonly string[];
  /** Runs a sandbox with one container, which is created but not started. */
  create(config: ContainerConfig): Promise<{ readonly sandboxId: string; readonly id: string }>;
  /** An engine on the same folder, as the next monitor has it. */
  next(): Engine;
  cleanup(): Promise<void>;
}

export function engineBed(): EngineBed {
  const layout = runtimeLayout(mkdtempSync(join(tmpdir(), 'statelet-engine-')));
  const events: string[] = [];
  const messages: string[] = [];
  const open = () =>
    new Engine(
      layout,
      (message) => messages.push(message),
      ({ containerEventType, containerId }) =>
        events.push(`${containerEventType.replace(/CONTAINER_|_EVENT/g, '')} ${containerId}`),
    );
  const engine = open();
  return {
    layout,
    engine,
    events,
    messages,
    create: async (config) => {
      const sandboxId = engine.runPodSandbox(podConfig(join(layout.rootDir, 'pods')));
      return { sandboxId, id: await engine.createContainer(sandboxId, config) };
    },
    next: open,
    cleanup: async () => {
      await engine.shutDown(0);
      rmSync(layout.rootDir, { recursive: true });
    },
  };
}
