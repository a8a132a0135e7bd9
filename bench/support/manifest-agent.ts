/** The production agent on a simulated runtime that answers at once, with a folder of manifests on the disk. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { map } from 'rxjs';
import type { NodeAgent } from '../../src/agent/actors/node-agent.ts';
import { servedPods } from '../../src/agent/actors/pods/served-pods.ts';
import { startNetworkServer } from '../../src/agent/server/endpoints.ts';
import { systemClock } from '../../src/system/timer.ts';
import { channelEvent, inBatches, podConfig } from '../../src/agent/sources/pod-config.ts';
import { fileSource } from '../../src/agent/sources/file-source.ts';
import { LastGoodManifests } from '../../src/agent/sources/manifests/last-good-manifests.ts';
import { problemText } from '../../src/agent/sources/source.ts';
import { nodeOf } from '../../test/support/admission.ts';
import { instantAgent } from './instant-agent.ts';

const POLL_MS = 20;

export class ManifestAgent {
  readonly dir = mkdtempSync(join(tmpdir(), 'statelet-bench-'));
  readonly manifests = join(this.dir, 'manifests');
  readonly #agent: NodeAgent;

  constructor(podsMax: number) {
    const nodeFacts = nodeOf({ pods: String(podsMax) });
    const configuration = this.#configuration(nodeFacts.name);
    this.#agent = instantAgent({ clock: systemClock, configuration, nodeFacts });
    this.#agent.start();
  }

  /** Resolves when the pods of exactly these names have settled. */
  async runs(names: ReadonlySet<string>): Promise<void> {
    while (!this.#runs(names)) await delay(POLL_MS);
  }

  /** The length of the answer to `/pods`. */
  async listLength(): Promise<number> {
    const { registry } = this.#agent.supervisor;
    const pods = () => servedPods(registry, this.#agent.statusManager);
    const server = await startNetworkServer(
      { host: '127.0.0.1', port: 0 },
      { health: () => undefined, pods },
    );
    const response = await fetch(`http://${server.address}/pods`);
    let length = 0;
    for await (const part of response.body ?? []) length += (part as Uint8Array).length;
    await server.close();
    return length;
  }

  async stop(): Promise<void> {
    await this.#agent.stop();
    rmSync(this.dir, { recursive: true });
  }

  #configuration(nodeName: string) {
    const lastGood = new LastGoodManifests(join(this.dir, 'last-good'));
    const file = fileSource({ path: this.manifests, nodeName, checkFrequencyMs: 20_000, lastGood });
    const onProblem = (problem: Parameters<typeof problemText>[0]) =>
      process.stderr.write(`${problemText(problem)}\n`);
    const config = podConfig({ file }, { now: () => systemClock.now(), onProblem });
    return config.pipe(inBatches(), map(channelEvent));
  }

  #runs(names: ReadonlySet<string>): boolean {
    const entries = [...this.#agent.supervisor.registry.entries()];
    return (
      entries.length === names.size &&
      entries.every(
        ({ pod, actor }) => names.has(pod.name) && actor.getSnapshot().matches({ Syncing: 'Settled' }),
      )
    );
  }
}
