/** The actors that end pods for plugins, one for each pod, and their effects. A restarted agent knows nothing of them. */
import type { ActorRefFrom } from 'xstate';
import { isSameProblem } from '../../cluster/service/api-error.ts';
import {
  type PodKillContext,
  type PodKillEvent,
  type PodKillInput,
  podKillMachine,
} from '../../machines/pod-kill-machine.ts';
import { EVICTED, evictionKill } from '../../policies/eviction/eviction-message.ts';
import type { RuledPod } from '../../policies/eviction-plugins/collected-answers.ts';
import {
  killerOf,
  killGraceSeconds,
  killMessage,
  killRetryMs,
  shownReason,
} from '../../policies/eviction-plugins/pod-kill.ts';
import { fullName } from '../../policies/pod/pod-kinds.ts';
import type { KillPodOptions } from '../../policies/termination/pod-termination.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { EvictionPluginSettings, PodKillerName } from '../../../types/node-settings.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { podFields } from '../../../types/logger.ts';
import type { ActorContext } from '../actor-context.ts';
import { createActor, StateTimes } from '../agent-actor.ts';
import type { PodRegistry } from '../pods/pod-registry.ts';
import { KillTimeouts, recordExceededGracePeriod } from '../start/kill-timeouts.ts';
import { askServer, type KillApi } from './kill-requests.ts';
import type { PodKills, PodKillView } from './plugin-parts.ts';

/** After the pod has ended on the node, its volumes are removed and its status is written before its object is deleted. */
const OBJECT_PATIENCE_SECONDS = 30;

export interface PluginPodKillsParts {
  readonly registry: Pick<
    PodRegistry,
    'get' | 'podOf' | 'kill' | 'isPodTerminationRequested' | 'isPodKnownTerminated'
  >;
  /** Without it, this node ends all pods itself. */
  readonly api?: KillApi;
  readonly killers: EvictionPluginSettings['killers'];
  /** A pod has been told to end for that plugin, once for each kill. */
  readonly onKilled?: (plugin: string, killer: PodKillerName, pod: Pod) => void;
}

/** Its actors are children of the supervisor. */
type Context = ActorContext & Required<Pick<ActorContext, 'parent'>>;

/** One pod that is being killed. */
interface Kill {
  /** As it was when a plugin chose it. */
  readonly pod: Pod;
  readonly actor: ActorRefFrom<typeof podKillMachine>;
  request: AbortController | undefined;
}

export class PluginPodKills implements PodKills {
  readonly #context: Context;
  readonly #parts: PluginPodKillsParts;
  /** By UID. */
  readonly #kills = new Map<string, Kill>();
  readonly #times: StateTimes;
  readonly #limits: KillTimeouts;
  #machine: typeof podKillMachine | undefined;
  #isStopped = false;

  constructor(context: Context, parts: PluginPodKillsParts) {
    this.#context = context;
    this.#parts = parts;
    this.#times = new StateTimes(context.clock);
    this.#limits = new KillTimeouts(context.clock);
  }

  kill(pods: readonly RuledPod[]): void {
    for (const ruled of pods) {
      const { pod, gracePeriodSeconds } = ruled;
      const { uid } = pod.metadata;
      if (this.#isStopped) return;
      if (!this.#kills.has(uid)) this.#begin(ruled);
      else if (gracePeriodSeconds !== undefined)
        this.#send(uid, { type: 'HASTEN', gracePeriodSeconds: killGraceSeconds(pod, gracePeriodSeconds) });
    }
  }

  isUnderWay(uid: string): boolean {
    return this.#kills.has(uid);
  }

  views(): readonly PodKillView[] {
    return Array.from(this.#kills.values(), ({ actor }) => {
      const { value: state, context } = actor.getSnapshot();
      const { plugin, reason, killer, refusal, overdue } = context;
      const { uid, namespace, name } = context.pod;
      const sinceMs = this.#times.since(actor) ?? this.#context.clock.now();
      const problem = refusal?.problem ?? overdue;
      return { uid, pod: `${namespace}/${name}`, plugin, reason, killer, state, sinceMs, problem };
    });
  }

  podEnded(uid: string, how: 'Terminated' | 'Finished' | 'Forgotten'): void {
    if (how === 'Terminated') this.#send(uid, { type: 'POD_TERMINATED' });
    if (how === 'Forgotten') this.#send(uid, { type: 'POD_GONE' });
  }

  /** A request that the server has got is not taken back. */
  stop(): void {
    this.#isStopped = true;
    for (const { actor } of this.#kills.values()) actor.send({ type: 'STOP' });
  }

  #begin({ pod, plugin, reason, gracePeriodSeconds }: RuledPod): void {
    const { api, killers } = this.#parts;
    const { parent, inspect } = this.#context;
    const { uid, name, namespace } = pod.metadata;
    const input: PodKillInput = {
      pod: { uid, name, namespace },
      plugin,
      reason,
      killer: killerOf(pod, killers, api !== undefined),
      gracePeriodSeconds: killGraceSeconds(pod, gracePeriodSeconds),
    };
    this.#machine ??= this.#provide();
    const id = `pod-kill ${fullName(input.pod)} ${uid}`;
    const actor = createActor(this.#machine, { id, input, parent, inspect });
    const kill: Kill = { pod, actor, request: undefined };
    this.#kills.set(uid, kill);
    actor.subscribe({
      next: ({ value }) => {
        this.#times.note(actor, value);
        if (value === 'Ended') this.#forget(kill);
      },
      error: (error: unknown) => this.#failed(kill, error),
    });
    actor.start();
  }

  #provide(): typeof podKillMachine {
    const { random, logger } = this.#context;
    return podKillMachine.provide({
      delays: {
        retry: ({ context: { refusal, failures } }) =>
          refusal === undefined ? 0 : killRetryMs(refusal, failures, random()),
      },
      actions: {
        requestKill: ({ context }) => {
          const kill = this.#kills.get(context.pod.uid);
          if (kill !== undefined) this.#request(kill, context);
        },
        abortRequest: ({ context: { pod } }) => this.#kills.get(pod.uid)?.request?.abort(),
        armLimit: ({ context }) => this.#armLimit(context),
        disarmLimit: ({ context: { pod } }) => this.#limits.lift(pod.uid),
        reportTaken: ({ context }) => this.#reportTaken(context),
        reportEnding: ({ context: { pod, plugin } }) => {
          logger.info({ ...podFields(pod), plugin }, 'A plugin chose the pod, and it is ending already');
        },
        reportRefusal: ({ context, event }) => this.#reportRefusal(context, event),
        reportOverdue: ({ context }) => this.#reportOverdue(context),
        reportEnded: ({ context: { pod, plugin } }) => {
          logger.debug({ ...podFields(pod), plugin }, 'The pod that a plugin chose has ended');
        },
      },
    });
  }

  #send(uid: string, event: PodKillEvent): void {
    const actor = this.#kills.get(uid)?.actor;
    if (!this.#isStopped && actor?.getSnapshot().status === 'active') actor.send(event);
  }

  #forget(kill: Kill): void {
    this.#kills.delete(kill.pod.metadata.uid);
    this.#context.parent.send({ type: 'ACTOR_FORGOTTEN', actor: kill.actor });
  }

  #request(kill: Kill, context: PodKillContext): void {
    const { registry, api } = this.#parts;
    const { awaits, killer, gracePeriodSeconds } = context;
    const { pod } = kill;
    const { uid } = pod.metadata;
    if (registry.get(uid) === undefined || registry.isPodKnownTerminated(uid)) {
      this.#send(uid, { type: 'POD_GONE' });
    } else if (awaits === undefined && registry.isPodTerminationRequested(uid)) {
      this.#send(uid, this.#ending(context));
    } else if (killer === 'SyncPodKill' || api === undefined) {
      registry.kill(uid, awaits === undefined ? evicting(context) : sooner(context));
      this.#send(uid, { type: 'TAKEN', awaits: 'Node' });
    } else {
      const { signal } = (kill.request = new AbortController());
      const asked = askServer(api, { pod, killer, gracePeriodSeconds, signal });
      void this.#answered(kill, asked, signal);
    }
  }

  /** An answer after the abort is dropped: the machine waits for something else by then. */
  async #answered(kill: Kill, asked: ReturnType<typeof askServer>, signal: AbortSignal): Promise<void> {
    const answer = await asked;
    if (signal.aborted) return;
    const { context } = kill.actor.getSnapshot();
    const { uid } = context.pod;
    const isEnding = context.awaits === undefined && this.#parts.registry.isPodTerminationRequested(uid);
    this.#send(uid, isEnding && answer.type === 'REFUSED' ? this.#ending(context) : answer);
  }

  /** If the pod's object is being deleted, the kill lasts until the object is gone. */
  #ending({ pod, killer }: PodKillContext): PodKillEvent {
    const known = this.#parts.registry.podOf(pod.uid);
    const isDeleted = known?.metadata.deletionTimestamp != null;
    return { type: 'ENDING', awaits: isDeleted && killer !== 'SyncPodKill' ? 'Object' : 'Node' };
  }

  /** Another part may have told the pod to end within another time. */
  #armLimit({ pod: { uid }, gracePeriodSeconds, awaits }: PodKillContext): void {
    const inForce = this.#parts.registry.get(uid)?.actor.getSnapshot().context.gracePeriodSeconds;
    const seconds = (inForce ?? gracePeriodSeconds) + (awaits === 'Object' ? OBJECT_PATIENCE_SECONDS : 0);
    this.#limits.set(uid, seconds, (problem) => this.#send(uid, { type: 'OVERDUE', problem }));
  }

  #reportTaken({ pod, plugin, reason, killer }: PodKillContext): void {
    const { recorder, logger } = this.#context;
    const known = this.#kills.get(pod.uid)?.pod;
    if (known !== undefined) this.#parts.onKilled?.(plugin, killer, known);
    recorder.event(pod, 'Warning', EVICTED, killMessage(plugin, reason));
    logger.info(
      { ...podFields(pod), plugin, killer },
      `The pod is ended for a plugin: ${shownReason(reason)}`,
    );
  }

  /** Logs a line for each new problem, not for each try. The context is from before the refusal. */
  #reportRefusal({ pod, plugin, killer, refusal }: PodKillContext, event: PodKillEvent): void {
    if (event.type !== 'REFUSED') return;
    const { problem } = event.refusal;
    const line = `The pod could not be ended for a plugin, which is tried again: ${problem}`;
    const level = isSameProblem(problem, refusal?.problem) ? 'debug' : 'warn';
    this.#context.logger[level]({ ...podFields(pod), plugin, killer }, line);
  }

  #reportOverdue({ pod, plugin, hasTerminated, overdue = '' }: PodKillContext): void {
    const { recorder, logger } = this.#context;
    const isHere = this.#parts.registry.isPodTerminationRequested(pod.uid) && !hasTerminated;
    if (isHere) recordExceededGracePeriod(recorder, pod);
    const where = hasTerminated ? 'has ended on this node, but its object is still there' : 'is still there';
    logger.warn({ ...podFields(pod), plugin }, `The pod that a plugin chose ${where}: ${overdue}`);
  }

  #failed({ pod }: Kill, error: unknown): void {
    const { metadata } = pod;
    this.#limits.lift(metadata.uid);
    this.#kills.delete(metadata.uid);
    const line = `The actor that ends the pod for a plugin failed: ${errorMessage(error)}`;
    this.#context.logger.error({ ...podFields(metadata), err: error }, line);
  }
}

function evicting({ plugin, reason, gracePeriodSeconds }: PodKillContext): KillPodOptions {
  return evictionKill(killMessage(plugin, reason), gracePeriodSeconds, { isDisrupted: true });
}

/** The status stays that of the first kill. */
function sooner({ gracePeriodSeconds }: PodKillContext): KillPodOptions {
  return { podTerminationGracePeriodSecondsOverride: gracePeriodSeconds };
}
