/** Pods that are killed for plugins on the production agent with a simulated runtime. */
import { type KillApi } from '../../../../src/agent/actors/plugins/kill-requests.ts';
import { PluginPodKills } from '../../../../src/agent/actors/plugins/plugin-pod-kills.ts';
import type { NodeAgent } from '../../../../src/agent/actors/node-agent.ts';
import { stateName } from '../../../../src/agent/actors/transitions.ts';
import type { RuledPod } from '../../../../src/agent/policies/eviction-plugins/collected-answers.ts';
import type { EvictionPluginSettings } from '../../../../src/types/node-settings.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { agentOn, simulatedPathNode } from '../../../paths/path-node.ts';
import { type LogLine, recordingLogger } from '../../../support/recording-logger.ts';
import { testContext } from '../../../support/test-context.ts';

interface BedOptions {
  readonly api?: KillApi;
  readonly killers?: EvictionPluginSettings['killers'];
}

export class KillsBed {
  readonly ground = simulatedPathNode();
  readonly agent: NodeAgent;
  readonly kills: PluginPodKills;
  /** `web Warning Evicted: message`. */
  readonly events: string[] = [];
  readonly killed: string[] = [];
  readonly lines: readonly LogLine[];
  /** UIDs of pods whose stop hangs. */
  readonly hung = new Set<string>();

  constructor({ api, killers = {} }: BedOptions = {}) {
    const { logger, lines } = recordingLogger();
    const { clock } = this.ground;
    this.lines = lines;
    const recorder = {
      event: ({ name }: { name: string }, type: string, reason: string, message: string) =>
        void this.events.push(`${name} ${type} ${reason}: ${message}`),
      nodeEvent: () => undefined,
    };
    this.agent = agentOn(this.ground, this.ground.open(), {
      sources: ['api'],
      recorder,
      wrapEffects: (effects) => ({
        ...effects,
        stopPod: async (context, signal) => {
          if (this.hung.has(context.uid)) await aborted(signal);
          signal.throwIfAborted();
          return effects.stopPod(context, signal);
        },
      }),
    });
    const { registry, actor, ends } = this.agent.supervisor;
    const context = { ...testContext({ clock, recorder, logger }), parent: actor };
    const onKilled = (plugin: string, killer: string) => this.killed.push(`${plugin} ${killer}`);
    this.kills = new PluginPodKills(context, { registry, api, killers, onKilled });
    ends.subscribe(({ uid }, end) => this.kills.podEnded(uid, end));
  }

  async start(...pods: Pod[]): Promise<void> {
    const { supervisor } = this.agent;
    this.agent.start();
    await this.ground.until('the runtime to be ready', () => supervisor.runtimeProblem === undefined);
    supervisor.send({ type: 'SOURCE_SEEN', source: 'api' });
    supervisor.send({ type: 'CONFIG.ADD', source: 'api', pods });
    for (const { metadata } of pods) await this.untilState(metadata.uid, 'Syncing.Settled');
  }

  async stop(): Promise<void> {
    this.kills.stop();
    await this.agent.stop();
  }

  kill(pod: Pod, more: Partial<RuledPod> = {}): void {
    const ruled = { plugin: 'greed', reason: 'it uses too much', forceEvict: true, scope: 'force' };
    this.kills.kill([{ pod, ...ruled, ...more }]);
  }

  /** The object is being deleted, as the source shows it. */
  deleted(pod: Pod): void {
    const deletionTimestamp = '2030-01-01T00:00:00Z';
    const metadata = { ...pod.metadata, deletionTimestamp, deletionGracePeriodSeconds: 5 };
    this.agent.supervisor.send({ type: 'CONFIG.DELETE', source: 'api', pods: [{ ...pod, metadata }] });
  }

  /** The object is gone, as the source shows it. */
  gone(pod: Pod): void {
    this.agent.supervisor.send({ type: 'CONFIG.REMOVE', source: 'api', pods: [pod] });
  }

  state(uid: string): string | undefined {
    const entry = this.agent.supervisor.registry.get(uid);
    return entry && stateName(entry.actor.getSnapshot().value);
  }

  /** '' for a pod that is not known. */
  untilState(uid: string, wanted: string): Promise<void> {
    return this.ground.until(`${uid} to be in ${wanted}`, () => (this.state(uid) ?? '') === wanted);
  }

  view(uid: string) {
    return this.kills.views().find((view) => view.uid === uid);
  }

  evictions(): readonly string[] {
    return this.events.filter((event) => event.includes(' Evicted: '));
  }

  warnings(): readonly string[] {
    return this.lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
  }
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve());
  });
