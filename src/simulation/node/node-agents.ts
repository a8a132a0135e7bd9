/** The agents of a node, one after another: each is stopped or killed, and the next one goes on with what is left. */
import type { EndedPod } from '../../agent/policies/termination/ended-pod.ts';
import type { PodStatus } from '../../types/kubernetes.ts';
import type { SimulatedApiServer } from '../api/simulated-api-server.ts';
import type { ApiJudge } from '../judges/api/api-judge.ts';
import type { Kill } from '../plan/plan.ts';
import { countEviction } from '../tally.ts';
import type { AgentRun, AgentRunParts } from './agent-run.ts';
import type { HostContext } from './host-context.ts';
import type { ChangedAgent } from './node-changes.ts';
import type { SimulatedSources } from './simulated-sources.ts';

/** The API server may become reachable up to this much later than an agent starts. */
const MAX_API_DELAY_MS = 30_000;

/** How long no agent runs after one was killed while it wrote a file. */
const MAX_DOWN_MS = 20_000;

/** What an agent finds when it starts. */
export type AgentLife = Pick<AgentRunParts, 'ordinal' | 'endedPods' | 'hadReasonToEnd' | 'onFinished'>;

interface NodeAgentsParts {
  readonly api: SimulatedApiServer;
  readonly lease: Pick<ApiJudge['lease'], 'abandoned'>;
  readonly sources: () => SimulatedSources;
  readonly start: (life: AgentLife) => AgentRun;
}

export class NodeAgents implements ChangedAgent {
  readonly #context: HostContext;
  readonly #parts: NodeAgentsParts;
  #run: AgentRun | undefined;
  #count = 0;
  /** The pods that must not start again, as the disk has them. */
  #endedPods: readonly EndedPod[] = [];
  /** UIDs of ordinary pods of manifests that an agent was told to end, or had a reason to end. */
  readonly #hadReasonToEnd = new Set<string>();

  constructor(context: HostContext, parts: NodeAgentsParts) {
    this.#context = context;
    this.#parts = parts;
  }

  /** The agent that runs now; undefined while none runs. */
  get run(): AgentRun | undefined {
    return this.#run;
  }

  /** The agent knows its pods, and the runtime answers. */
  get isAtWork(): boolean {
    const { supervisor } = this.#run?.agent ?? {};
    return supervisor?.synced === true && supervisor.runtimeProblem === undefined;
  }

  start(): void {
    const { random, tell } = this.#context;
    const { api, start } = this.#parts;
    const ordinal = ++this.#count;
    tell(`agent ${String(ordinal)} starts`);
    const apiDelayMs = (2 * random(`life/${String(ordinal)}/api`) - 1) * MAX_API_DELAY_MS;
    if (apiDelayMs > 0) api.goDownFor(apiDelayMs);
    this.#run = start({
      ordinal,
      endedPods: {
        stored: this.#endedPods,
        write: (pods) => {
          this.#endedPods = pods;
        },
      },
      hadReasonToEnd: (uid) => this.hadReasonToEnd(uid),
      onFinished: (uid) => this.#onFinished(uid),
    });
  }

  kill(uid: string, kill: Kill): void {
    if (this.#run?.kill(uid, kill) === true) this.#context.tally.kills += 1;
  }

  delete(uid: string, graceSeconds?: number): void {
    void this.#run?.delete(uid, graceSeconds);
  }

  knows(uid: string): boolean {
    return this.#run?.agent.supervisor.registry.get(uid) !== undefined;
  }

  crash(downMs: number): void {
    const run = this.#run;
    if (run === undefined) return;
    this.#context.tally.agentsKilled += 1;
    this.#context.tell('the agent is killed');
    this.#keepReasons(run);
    run.crash();
    this.#isGone();
    this.#context.clock.setTimeout(() => this.start(), downMs);
  }

  /** The agent dies while it writes a file of that subject. */
  crashWriting(subject: string): void {
    this.crash(Math.ceil(MAX_DOWN_MS * this.#context.random(`${subject}/down/${String(this.#count)}`)));
  }

  restart(downMs: number): void {
    const run = this.#run;
    if (run === undefined) return;
    this.#context.tell('the agent is stopped');
    this.#keepReasons(run);
    this.#isGone();
    void run.stop().then(() => {
      // A renewal that was under way may have been carried out meanwhile.
      this.#parts.lease.abandoned();
      this.#context.clock.setTimeout(() => this.start(), downMs);
    });
  }

  /** The pod is ended, but not by a change of its source: no agent starts it again. */
  noteReasonToEnd(uid: string): void {
    this.#hadReasonToEnd.add(uid);
  }

  /** Whether an earlier agent was told to end the ordinary pod of a manifest, or had a reason to: it stays ended. */
  hadReasonToEnd(uid: string): boolean {
    return this.#hadReasonToEnd.has(uid);
  }

  /** Of the pods for which the agent does nothing now. */
  settledStatuses(): readonly (readonly [string, PodStatus | undefined])[] {
    const { supervisor, statusManager } = this.#run?.agent ?? {};
    const entries = [...(supervisor?.registry.entries() ?? [])];
    return entries
      .filter(({ actor }) => actor.getSnapshot().matches({ Syncing: 'Settled' }))
      .map(({ pod: { uid } }) => [uid, statusManager?.get(uid)]);
  }

  #isGone(): void {
    this.#run = undefined;
    this.#parts.lease.abandoned();
  }

  /** To be called before an agent is gone: the next one does not know the reasons for which this one ends pods. */
  #keepReasons({ judges }: AgentRun): void {
    const { pods } = this.#context;
    for (const { metadata } of this.#parts.sources().pods) {
      const { uid } = metadata;
      if (pods.isLocal(uid) && judges.hasReasonToEnd(uid)) this.#hadReasonToEnd.add(uid);
    }
  }

  #onFinished(uid: string): void {
    const { tally, pods } = this.#context;
    const { lifecycle, admission } = this.#run?.judges ?? {};
    // A pod that was requested again while it ended starts again.
    if (pods.isLocal(uid) && lifecycle?.ordersOf(uid)?.again !== true) this.#parts.sources().ended(uid);
    const { isPreempted = false, evictedFor, rejection } = admission?.record(uid) ?? {};
    tally.podsEnded += 1;
    if (isPreempted) tally.preempted += 1;
    if (evictedFor !== undefined) countEviction(tally, evictedFor);
    if (rejection !== undefined) tally.rejected += 1;
  }
}
