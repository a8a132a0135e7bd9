/** The pods of an agent under test: files that are moved into and out of its folder of manifests. */
import { mkdirSync, mkdtempSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ContainerdBed } from '../../test/support/containerd/containerd.ts';
import { nowMs } from './measures.ts';
import { manifest } from './pod-configs.ts';

/** Time until the work after a start has ended: compilation, timers, and the first relists. */
const SETTLING_MS = 3_000;

/** A node agent as a child process, with prepared pods. */
export interface AgentPods {
  readonly pid: number;
  settled(): Promise<void>;
  /** Returns when it began, in Unix milliseconds. */
  moveIn(): number;
  /** Returns when it began, in Unix milliseconds. */
  moveOut(): number;
  /** Does nothing if the agent has ended. */
  stop(): Promise<void>;
}

export class ManifestFolder {
  /** The agent's own folder, for its other files. */
  readonly folder: string;
  readonly manifests: string;
  readonly #prepared: string;

  constructor(bed: ContainerdBed, agent: string, count: number) {
    this.folder = mkdtempSync(join(bed.dir, `${agent}-`));
    [this.manifests, this.#prepared] = [join(this.folder, 'manifests'), join(this.folder, 'prepared')];
    for (const path of [this.manifests, this.#prepared]) mkdirSync(path);
    for (let index = 0; index < count; index++) {
      const file = join(this.#prepared, `pod-${index}.json`);
      writeFileSync(file, JSON.stringify(manifest(bed, `pod-${index}`)));
    }
  }

  settled(): Promise<void> {
    return delay(SETTLING_MS);
  }

  moveIn(): number {
    return move(this.#prepared, this.manifests);
  }

  moveOut(): number {
    return move(this.manifests, this.#prepared);
  }
}

function move(from: string, to: string): number {
  const names = readdirSync(from);
  const begunMs = nowMs();
  for (const name of names) renameSync(join(from, name), join(to, name));
  return begunMs;
}
