/** The production agent on a simulated runtime that does everything at once, with a folder of manifests on the disk. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { map } from 'rxjs';
import { NodeAgent } from '../../src/actors/node-agent.ts';
import { servedPods } from '../../src/actors/pods/served-pods.ts';
import { startApiServer } from '../../src/server/http-server.ts';
import { NO_LATENCIES } from '../../src/runtime/simulated/latencies.ts';
import { SimulatedRuntime } from '../../src/runtime/simulated/simulated-runtime.ts';
import { systemClock } from '../../src/system/system-clock.ts';
import { simulatedNode } from '../../src/simulation/node/simulated-node.ts';
import { inBatches } from '../../src/sources/config-batches.ts';
import { fileSource } from '../../src/sources/file-source.ts';
import { LastGoodManifests } from '../../src/sources/manifests/last-good-manifests.ts';
import { channelEvent, podConfig } from '../../src/sources/pod-config.ts';
import { problemText } from '../../src/sources/source.ts';
import { nodeOf } from '../../test/support/admission.ts';

const nothing = (): void => undefined;
const random = () => 0.5;
const LOOK_MS = 20;

export class ManifestAgent {
  readonly dir = mkdtempSync(join(tmpdir(), 'statelet-bench-'));
  readonly manifests = join(this.dir, 'manifests');
  readonly #agent: NodeAgent;

  constructor(podsMax: number) {
    const runtime = new SimulatedRuntime({ clock: systemClock, random, latencies: NO_LATENCIES }).connect();
    const faults = () => ({ mount: 0, release: 0, pull: 0 });
    const now = () => systemClock.now();
    const facts = nodeOf({ pods: String(podsMax) });
    const node = simulatedNode({ runtime, disk: new Map(), now, random, faults });
    this.#agent = new NodeAgent({
      parts: { runtime, node, start: nothing, stop: () => Promise.resolve() },
      sources: ['file'],
      configuration: this.#configuration(facts.name),
      ...{ clock: systemClock, random, hostIPs: ['192.0.2.1'], syncFrequencyMs: 60_000 },
      nodeFacts: () => facts,
      preemptionLowerPriorityFirst: true,
      maxContainerRestartPeriodMs: 300_000,
      maximumDeadContainersPerContainer: 1,
      startsAtOnce: 16,
      recorder: { event: nothing, nodeEvent: nothing },
      logger: { trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing },
    });
    this.#agent.start();
  }

  /** Resolves when pods of these names, and no others, have been started. */
  async runs(names: ReadonlySet<string>): Promise<void> {
    while (!this.#runs(names)) await delay(LOOK_MS);
  }

  /** The length of what `/pods` answers. */
  async listLength(): Promise<number> {
    const { registry } = this.#agent.supervisor;
    const pods = () => servedPods(registry, this.#agent.statusManager);
    const server = await startApiServer({ host: '127.0.0.1', port: 0 }, { health: () => undefined, pods });
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
