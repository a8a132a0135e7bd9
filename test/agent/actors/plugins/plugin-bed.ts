/** The plugin manager of the production agent on a simulated runtime. The test sets what plugins answer. */
import type { InspectionEvent } from 'xstate';
import type { AgentCore } from '../../../../src/agent/actors/cluster/cluster-parts.ts';
import type { NodeAgent } from '../../../../src/agent/actors/node-agent.ts';
import { PluginManager } from '../../../../src/agent/actors/plugins/plugin-manager.ts';
import type {
  HostedPlugin,
  PluginDirectory,
  PodKills,
  PodNotices,
} from '../../../../src/agent/actors/plugins/plugin-parts.ts';
import { stateName } from '../../../../src/agent/actors/transitions.ts';
import { evictionKill } from '../../../../src/agent/policies/eviction/eviction-message.ts';
import { evictionRecord } from '../../../../src/agent/policies/eviction-plugins/eviction-records.ts';
import type { RuledPod } from '../../../../src/agent/policies/eviction-plugins/collected-answers.ts';
import type { Logger } from '../../../../src/types/logger.ts';
import type { EvictionPluginSettings } from '../../../../src/types/node-settings.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { agentOn, type PathNode, simulatedPathNode } from '../../../paths/path-node.ts';
import { FakePlugin, PLUGIN_SETTINGS } from '../../../support/eviction-plugins.ts';
import { RecordedMeasurements } from '../../../support/recorded-measurements.ts';

/** Plugins that are there from the beginning, and are never lost. */
class FixedDirectory implements PluginDirectory {
  /** How each question to a plugin ended, by its name. */
  readonly told: string[] = [];
  readonly hosted: HostedPlugin[] = [];
  isStopped = false;

  add(plugin: FakePlugin): void {
    this.hosted.push({
      plugin,
      origin: 'built-in',
      state: () => 'Serving',
      since: () => 0,
      problem: () => undefined,
      answered: () => void this.told.push(`${plugin.name} answered`),
      failed: (problem) => void this.told.push(`${plugin.name} failed: ${problem}`),
    });
  }

  plugins() {
    return this.hosted;
  }

  sockets() {
    return [];
  }

  all() {
    return this.hosted;
  }

  start(): void {
    this.isStopped = false;
  }

  stop(): Promise<void> {
    this.isStopped = true;
    return Promise.resolve();
  }
}

/** Ends pods through the registry, or leaves them as the Eviction API would while it refuses. */
class RecordedKills implements PodKills {
  /** The names of the pods of each call. */
  readonly calls: (readonly string[])[] = [];
  readonly ends: string[] = [];
  readonly underWay = new Set<string>();
  end: (ruled: RuledPod) => void = () => undefined;

  kill(pods: readonly RuledPod[]): void {
    this.calls.push(pods.map(({ pod }) => pod.metadata.name));
    for (const ruled of pods) {
      if (this.underWay.has(ruled.pod.metadata.uid)) continue;
      this.underWay.add(ruled.pod.metadata.uid);
      this.end(ruled);
    }
  }

  isUnderWay(uid: string): boolean {
    return this.underWay.has(uid);
  }

  views() {
    return [];
  }

  podEnded(uid: string, how: string): void {
    this.ends.push(`${uid} ${how}`);
    this.underWay.delete(uid);
  }

  stop(): void {
    this.underWay.clear();
  }
}

export class PluginBed {
  readonly ground: PathNode = simulatedPathNode();
  readonly directory = new FixedDirectory();
  readonly kills = new RecordedKills();
  readonly events: string[] = [];
  readonly lines: string[] = [];
  readonly measurements = new RecordedMeasurements();
  notices: PodNotices | undefined;
  /** How often the manager told that the conditions are known. */
  firstPasses = 0;
  #agent: NodeAgent | undefined;
  #manager: PluginManager | undefined;

  get agent(): NodeAgent {
    if (this.#agent === undefined) throw new Error('the agent has not been started');
    return this.#agent;
  }

  get manager(): PluginManager {
    if (this.#manager === undefined) throw new Error('the agent has not been started');
    return this.#manager;
  }

  plugin(name: string): FakePlugin {
    const plugin = new FakePlugin(name);
    this.directory.add(plugin);
    return plugin;
  }

  async start(
    settings: Partial<EvictionPluginSettings> = {},
    inspect?: (event: InspectionEvent) => void,
  ): Promise<void> {
    const agent = agentOn(this.ground, this.ground.open(), {
      ...(inspect && { inspect }),
      measurements: this.measurements,
      logger: this.#logger(),
      plugins: (core) => (this.#manager = this.#made(core, settings)),
      recorder: {
        event: ({ name }, type, reason, message) => this.events.push(`${name} ${type} ${reason} ${message}`),
        nodeEvent: () => undefined,
      },
    });
    this.#agent = agent;
    this.kills.end = ({ pod }) =>
      agent.supervisor.registry.kill(pod.metadata.uid, evictionKill('gone', 1, { isDisrupted: true }));
    agent.start();
    await this.ground.until('the runtime to be ready', () => agent.supervisor.runtimeProblem === undefined);
    agent.supervisor.send({ type: 'SOURCE_SEEN', source: 'file' });
  }

  stop(): Promise<unknown> {
    return this.agent.stop();
  }

  async run(...pods: Pod[]): Promise<void> {
    this.agent.supervisor.send({ type: 'CONFIG.ADD', source: 'api', pods });
    for (const { metadata } of pods) await this.untilState(metadata.name, 'Syncing.Settled');
  }

  state(name: string): string | undefined {
    const entry = this.agent.supervisor.registry.get(name);
    return entry && stateName(entry.actor.getSnapshot().value);
  }

  untilState(name: string, wanted: string): Promise<void> {
    return this.ground.until(`${name} to be in ${wanted}`, () => this.state(name) === wanted);
  }

  /** Lets the period pass, and waits for the end of the pass. */
  async pass(): Promise<void> {
    await this.ground.clock.advance(PLUGIN_SETTINGS.syncPeriodMs);
    await this.ground.until('the pass to end', () => this.manager.view().state === 'Waiting');
  }

  /** Why the taints are not compared any more. */
  taintsProblem: string | undefined;

  #made(core: AgentCore, settings: Partial<EvictionPluginSettings>) {
    const { registry, desired, statusManager } = core;
    return new PluginManager(core, {
      registry,
      directory: this.directory,
      kills: this.kills,
      settings: { ...PLUGIN_SETTINGS, ...settings },
      statusOf: (uid) => statusManager.get(uid),
      ownUIDOf: (uid) => desired.ownUIDOf(uid),
      nodeName: 'node1',
      notices: this.notices,
      recordsOf: (pods) => pods.map((pod) => evictionRecord(pod, [], [])),
      taintsOf: () => ({
        start: () => (this.firstPasses += 1),
        stop: () => undefined,
        health: () => this.taintsProblem,
      }),
    });
  }

  #logger(): Logger {
    const none = () => undefined;
    const write = (_: object, message: string) => {
      if (message.startsWith('Eviction plugins: '))
        this.lines.push(message.slice('Eviction plugins: '.length));
    };
    return { trace: none, debug: none, info: write, warn: write, error: write };
  }
}
