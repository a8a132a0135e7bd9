/** Sees every request to the simulated API server: counts it, writes it down, and has it judged. */
import type { RequestUnderWay, ApiWitness } from '../api/api-witness.ts';
import { ApiJudge } from '../judges/api/api-judge.ts';
import type { SlicesJudge } from '../judges/slices-judge.ts';
import type { SimulatedRuntime } from '../runtime/simulated-runtime.ts';
import type { AgentRun } from './agent-run.ts';
import type { HostContext } from './host-context.ts';
import type { SimulatedSources } from './simulated-sources.ts';

interface ApiObserverParts {
  readonly runtime: () => SimulatedRuntime;
  readonly sources: () => SimulatedSources;
  /** Undefined while no agent runs. */
  readonly agentRun: () => AgentRun | undefined;
  /** Undefined for a node without DRA drivers. */
  readonly slices: () => SlicesJudge | undefined;
  /** Whether plugins have chosen the pod. */
  readonly wasChosen: (uid: string) => boolean;
}

export class ApiObserver implements ApiWitness {
  readonly judge: ApiJudge;
  readonly #context: HostContext;
  readonly #parts: ApiObserverParts;

  constructor(context: HostContext, parts: ApiObserverParts) {
    this.#context = context;
    this.#parts = parts;
    this.judge = this.#buildJudge();
  }

  requestBegan(request: RequestUnderWay): void {
    this.judge.requestBegan(request);
    if (request.target.resource === 'resourceslices') this.#parts.slices()?.asked(request.connection);
  }

  requestLands(request: RequestUnderWay): void {
    this.judge.requestLands(request);
  }

  requestEnded(request: RequestUnderWay, answer: string): void {
    const { tally, tell } = this.#context;
    const { slices } = this.#parts;
    this.judge.requestEnded(request, answer);
    const { verb, target, connection } = request;
    const isRead = verb === 'get' || verb === 'list';
    if (target.resource === 'resourceslices')
      slices()?.answered(connection, answer === 'done' && !request.abandoned);
    const { name, subresource = 'pod' } = 'name' in target ? target : { name: undefined };
    tally.requests += 1;
    if (target.resource === 'pods' && name !== undefined)
      tell(`${verb} ${subresource}: ${answer}`, { name }, isRead);
    else if (answer !== 'done') tell(`${verb} ${target.resource}: ${answer}`, {}, true);
  }

  #buildJudge(): ApiJudge {
    const { node, clock, pods, disk, violated } = this.#context;
    const { runtime, sources, wasChosen, agentRun: run } = this.#parts;
    return new ApiJudge({
      node,
      now: () => clock.now(),
      truth: {
        runtime,
        isMounted: (uid) => disk.get(uid)?.mounted === true,
        mayRunUnknown: (uid) => run()?.judges.lifecycle.hasLateCall(uid) ?? true,
        wasMadeAgain: (uid) => sources().wasMadeAgain(uid),
        wasChosen,
        isForeign: ({ connection, abandoned }) => abandoned || connection !== run()?.connection.id,
      },
      podAt: (name) => sources().object(name),
      staticNameOf: (uid) => (pods.isStatic(uid) ? pods.nameOf(uid) : undefined),
      wantedUID: (name) => sources().staticPods.find((pod) => pod.metadata.name === name)?.metadata.uid,
      wasDeletedByHand: (uid) => sources().wasDeletedByHand(uid),
      wasWantedAgain: (uid) => sources().wasMadeAgain(uid),
      isEnding: (uid) => run()?.judges.lifecycle.isEnding(uid) ?? false,
      onViolation: violated,
    });
  }
}
