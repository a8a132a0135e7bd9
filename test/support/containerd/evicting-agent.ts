/** An agent on containerd with eviction, and pods that it may evict: static pods are never evicted. */
import type { EvictionParts, EvictionStats } from '../../../src/agent/actors/eviction/eviction-figures.ts';
import { resolveNodeSettings } from '../../../src/agent/config/load-node-settings.ts';
import { pressureThresholds } from '../../../src/agent/policies/eviction/pressure-settings.ts';
import { openCriNode } from '../../../src/agent/runtime/node/open-cri-node.ts';
import { openStatsProvider } from '../../../src/agent/runtime/stats/kernel-stats.ts';
import type { StatsProvider } from '../../../src/agent/runtime/stats/stats-provider.ts';
import { systemClock } from '../../../src/system/timer.ts';
import type { Container, Pod } from '../../../src/types/kubernetes.ts';
import { testNode } from '../admission.ts';
import { startAgent, type TestAgent } from '../agent.ts';
import { settingsWith } from '../eviction.ts';
import { waitFor } from '../wait-for.ts';
import type { ContainerdBed } from './containerd.ts';
import { testContext } from '../test-context.ts';

export interface EvictingAgent extends TestAgent {
  readonly stats: StatsProvider;
  /** Measures the node now, without waiting for the next period. */
  readonly look: () => void;
  /** Measures the node until its present state has been evaluated. */
  readonly looked: () => Promise<void>;
}

export interface EvictingAgentOptions {
  readonly rootDir?: string;
  /** Chooses the thresholds; may read the stats of the node first. */
  readonly settings: (stats: StatsProvider) => Partial<EvictionParts['configuration']>;
  /** Fields of KubeletConfiguration. */
  readonly config?: Readonly<Record<string, unknown>>;
}

export async function startEvictingAgent(
  { endpoint, cgroupRoot }: ContainerdBed,
  { rootDir, settings, config = {} }: EvictingAgentOptions,
): Promise<EvictingAgent> {
  let folders = { rootDir: '', podLogsDir: '' };
  let stats: StatsProvider | undefined;
  let looks: Looks | undefined;
  const agent = await startAgent({
    ...(rootDir !== undefined && { rootDir }),
    openNode: (context, places) => {
      folders = places;
      return openCriNode(context, {
        ...places,
        endpoint,
        nodeName: 'node-a',
        facts: testNode(),
        reservations: { systemReserved: {}, kubeReserved: {}, evictionHard: {} },
        settings: resolveNodeSettings({ flags: {}, file: { cgroupRoot, ...config }, fileName: 'test' }),
      });
    },
    eviction: (pods, { runtime }) => {
      stats = openStatsProvider(testContext({ clock: systemClock }), {
        nodeName: 'node-a',
        cgroupRoot,
        runtime,
        pods,
        rootDir: folders.rootDir,
        podLogsDir: folders.podLogsDir,
      });
      const watched = new Looks(stats);
      looks = watched;
      const configuration = settingsWith(settings(stats));
      const thresholds = [...configuration.thresholds, ...NEVER_MET];
      return { configuration: { ...configuration, thresholds }, stats: () => Promise.resolve(watched) };
    },
  });
  if (stats === undefined || looks === undefined) throw new Error('the agent was built without eviction');
  const opened = { stats, looks };
  agent.ready();
  return {
    ...agent,
    stats: opened.stats,
    look: () => opened.looks.look(),
    looked: () => opened.looks.looked(),
    cleanUp: async () => {
      await agent.cleanUp();
      await opened.stats.close();
    },
  };
}

/** A pod of an API source, on the node's network. */
export function evictablePod(name: string, container: Container, spec: Partial<Pod['spec']> = {}): Pod {
  return {
    metadata: { name, namespace: 'default', uid: `uid-${name}` },
    spec: {
      hostNetwork: true,
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      containers: [container],
      ...spec,
    },
  };
}

type OnCrossed = Parameters<EvictionStats['watchPressure']>[1];

/** A threshold that is never met. With it, pressure is watched. */
const NEVER_MET = pressureThresholds({
  evictionPSI: { 'io.pressure.full.avg10': '99.99%' },
  evictionPSIGracePeriod: {},
});

/** The stats of the node, and a way to have them read, as if a pressure threshold had been crossed. */
class Looks implements EvictionStats {
  readonly #stats: StatsProvider;
  #onCrossed: OnCrossed | undefined;
  #measured = 0;

  constructor(stats: StatsProvider) {
    this.#stats = stats;
  }

  look(): void {
    this.#onCrossed?.({ isAbove: true, resource: 'io' });
  }

  async looked(): Promise<void> {
    // A measurement that began earlier may be running. When the third is done, the second has been evaluated.
    const wanted = this.#measured + 3;
    const isEvaluated = () => {
      this.look();
      return this.#measured >= wanted;
    };
    await waitFor(isEvaluated, { what: 'the node to be looked at' });
  }

  async summary(options: Parameters<EvictionStats['summary']>[0]) {
    const summary = await this.#stats.summary(options);
    this.#measured += 1;
    return summary;
  }

  diskLayout() {
    return this.#stats.diskLayout();
  }

  watchPressure(thresholds: Parameters<EvictionStats['watchPressure']>[0], onCrossed: OnCrossed) {
    this.#onCrossed = onCrossed;
    return this.#stats.watchPressure(thresholds, onCrossed);
  }

  memoryAvailable(signal: Parameters<EvictionStats['memoryAvailable']>[0]) {
    return this.#stats.memoryAvailable(signal);
  }

  watchMemory(...watcher: Parameters<EvictionStats['watchMemory']>) {
    return this.#stats.watchMemory(...watcher);
  }
}
