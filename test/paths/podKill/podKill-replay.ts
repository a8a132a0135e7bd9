/**
 * One path of the pod kill machine, replayed against the production actor with a real registry. Each request to the API server is held
 * until its step; the pod's chart is stepped by hand.
 */
import { expect } from '@jest/globals';
import { type ActorRefFrom, type AnyActorRef, createActor, type InspectionEvent } from 'xstate';
import { PluginPodKills } from '../../../src/agent/actors/plugins/plugin-pod-kills.ts';
import { PodRegistry } from '../../../src/agent/actors/pods/pod-registry.ts';
import type { podKillMachine } from '../../../src/agent/machines/pod-kill-machine.ts';
import type { KillPodOptions } from '../../../src/agent/policies/termination/pod-termination.ts';
import { supervisorMachine } from '../../../src/agent/machines/supervisor-machine.ts';
import type { RuledPod } from '../../../src/agent/policies/eviction-plugins/collected-answers.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import { type ApiRequest, noAnswer, refusal, ScriptedApi } from '../../support/answering-api.ts';
import { LEAVE_TO_START, podChart } from '../../support/pod-chart.ts';
import { testContext } from '../../support/test-context.ts';
import type { Coverage } from '../coverage.ts';
import type { Path } from '../paths.ts';
import {
  type Asked,
  essence,
  GRACE,
  isPassedAtOnce,
  POD,
  type PodKillEventName,
  type PodKillState,
} from './podKill-environment.ts';

type PodKillPath = Path<typeof podKillMachine>;

const { uid } = POD.metadata;

interface Held {
  readonly request: ApiRequest;
  readonly signal: AbortSignal | undefined;
  readonly answer: PromiseWithResolvers<object>;
}

export class PodKillReplay {
  readonly #asked: Asked;
  readonly #path: PodKillPath;
  readonly #clock = new VirtualClock();
  readonly #api = new ScriptedApi();
  readonly #parent: ActorRefFrom<typeof supervisorMachine>;
  readonly #registry: PodRegistry;
  readonly #kills: PluginPodKills;
  readonly #coverage: Coverage;
  #held: Held[] = [];
  #state: PodKillState | undefined;
  /** Of what was asked, in seconds. */
  readonly #graces: number[] = [];
  #events = 0;
  /** The pod ends as soon as this node is told. */
  #endsAtOnce = false;

  constructor(asked: Asked, path: PodKillPath, coverage: Coverage) {
    this.#asked = asked;
    this.#path = path;
    this.#coverage = coverage;
    this.#api.answer = (request, signal) => {
      const answer = Promise.withResolvers<object>();
      this.#held.push({ request, signal, answer });
      return answer.promise;
    };
    this.#parent = createActor(supervisorMachine, {
      clock: this.#clock,
      input: { sources: ['api'] },
      inspect: (event) => this.#inspect(event),
    });
    const context = testContext({ clock: this.#clock, parent: this.#parent });
    this.#registry = new PodRegistry(context, { synced: () => true });
    this.#kills = new PluginPodKills(context, {
      registry: {
        get: (of) => this.#registry.get(of),
        podOf: (of) => this.#registry.podOf(of),
        kill: (of, options) => this.#killed(of, options),
        isPodTerminationRequested: (of) => this.#registry.isPodTerminationRequested(of),
        isPodKnownTerminated: (of) => this.#registry.isPodKnownTerminated(of),
      },
      api: asked === 'server' ? this.#api : undefined,
      killers: {},
      onKilled: () => (this.#events += 1),
    });
  }

  /** The pod runs, and the kill begins. */
  async begin(): Promise<void> {
    this.#parent.start();
    const { name, namespace } = POD.metadata;
    this.#registry.spawn({ uid, name, namespace }, 'nothing', podChart);
    const synced = { type: 'SYNC_DONE', terminal: false, again: false } as const;
    for (const event of [{ type: 'SyncPodCreate', pod: POD } as const, ...LEAVE_TO_START, synced])
      this.#registry.send(uid, event);
    this.#endsAtOnce = this.#path[0]?.name === 'terminated';
    this.#kill();
    await this.#clock.advance(0);
  }

  async step(index: number): Promise<void> {
    const { name, before, after } = this.#path[index]!;
    if (!isPassedAtOnce(this.#asked, before)) {
      this.#endsAtOnce = this.#path[index + 1]?.name === 'terminated';
      await this.#bringAbout[name as PodKillEventName]();
      await this.#clock.advance(0);
    }
    if (!isPassedAtOnce(this.#asked, after)) this.#check(after);
  }

  async stop(): Promise<void> {
    this.#kills.stop();
    for (const { answer } of this.#held) answer.resolve({});
    await this.#clock.advance(0);
    expect(this.#clock.armed).toBe(0);
  }

  readonly #bringAbout: Readonly<Record<PodKillEventName, () => void | Promise<void>>> = {
    taken: () => this.#take().answer.resolve({}),
    takenHere: () => undefined,
    endingHere: () => {
      this.#registry.kill(uid);
      this.#take().answer.reject(refusal('Forbidden'));
    },
    absent: () => this.#take().answer.reject(refusal('NotFound')),
    postponed: () => this.#take().answer.reject(refusal('TooManyRequests')),
    unanswered: () => this.#take().answer.reject(noAnswer()),
    forbidden: () => this.#take().answer.reject(refusal('Forbidden')),
    retry: () => this.#clock.step(),
    shorter: () => this.#kill(GRACE.shorter),
    shortest: () => this.#kill(GRACE.shortest),
    longer: () => this.#kill(GRACE.longer),
    overdue: () => this.#clock.step(),
    terminated: () => this.#end(),
    stop: () => this.#kills.stop(),
    gone: () => {
      this.#registry.forget(uid);
      this.#kills.podEnded(uid, 'Forgotten');
    },
  };

  #inspect(event: InspectionEvent): void {
    this.#coverage.inspect(event);
    if (event.type === '@xstate.snapshot' && (event.actorRef as AnyActorRef).id.startsWith('pod-kill '))
      this.#state = event.snapshot as PodKillState;
  }

  #kill(gracePeriodSeconds?: number): void {
    const grace = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds };
    const ruled: RuledPod = {
      pod: POD,
      plugin: 'p',
      reason: 'r',
      forceEvict: true,
      scope: 'force',
      ...grace,
    };
    this.#kills.kill([ruled]);
  }

  /** None of its containers runs any more. */
  #end(): void {
    this.#registry.kill(uid);
    this.#registry.send(uid, { type: 'STOP_DONE' });
    this.#kills.podEnded(uid, 'Terminated');
    this.#kills.podEnded(uid, 'Finished');
  }

  #killed(of: string, options: KillPodOptions = {}): boolean {
    const isKnown = this.#registry.kill(of, options);
    const isFirst = this.#graces.length === 0;
    this.#graces.push(options.podTerminationGracePeriodSecondsOverride ?? 0);
    // Later ones leave the status as it is.
    expect([options.evict, options.podStatus?.reason]).toEqual(
      isFirst ? [true, 'Evicted'] : [undefined, undefined],
    );
    if (this.#endsAtOnce) this.#end();
    return isKnown;
  }

  #take(): Held {
    const [held, ...others] = this.#underWay();
    expect([held?.request.path, others]).toEqual([expect.stringMatching(/\/web\/eviction$/u), []]);
    this.#held = this.#held.filter((other) => other !== held);
    return held!;
  }

  #underWay(): readonly Held[] {
    return this.#held.filter(({ signal }) => signal?.aborted === false);
  }

  /** As the machine says; one thing at a time is waited for; no pod is asked for with a longer grace period than before. */
  #check(after: PodKillState): void {
    const state = this.#state!;
    const seen = { value: state.value, ...essence(state.context) };
    expect(seen).toEqual({ value: after.value, ...essence(after.context) });
    const isEnded = state.value === 'Ended';
    expect(this.#kills.isUnderWay(uid)).toBe(!isEnded);
    expect(this.#kills.views().map((view) => view.state)).toEqual(isEnded ? [] : [state.value]);
    const asks = state.value === 'Requesting' || state.value === 'Hastening';
    const waits = state.value === 'BackingOff' || state.value === 'AwaitingEnd';
    expect([this.#underWay().length, this.#clock.armed]).toEqual([asks ? 1 : 0, waits ? 1 : 0]);
    const bodies = this.#api.requests.map(
      ({ body }) => body as { deleteOptions: { gracePeriodSeconds: number } },
    );
    const graces = [...this.#graces, ...bodies.map(({ deleteOptions }) => deleteOptions.gracePeriodSeconds)];
    expect(graces).toEqual(graces.toSorted((a, b) => b - a));
    expect(this.#events).toBeLessThanOrEqual(1);
  }
}
