/** The actors of a system that run, without those of pods, which the registry has. XState keeps no list that can be read. */
import type { AnyActorRef, AnyStateNode } from 'xstate';
import type { ActorView } from '../../types/page-views.ts';
import { tapActors } from '../system-tap.ts';

interface SeenLogic {
  readonly id?: string;
}

interface SeenSnapshot {
  readonly status: string;
  readonly _nodes?: readonly AnyStateNode[];
}

export class KnownActors {
  readonly #actors = new Set<AnyActorRef>();

  /** `root`: the first actor of the system, before it and others begin. */
  constructor(root: AnyActorRef) {
    tapActors(root.system, {
      began: (actor) => this.add(actor),
      ended: (actor) => this.#actors.delete(actor),
    });
  }

  /** Of that chart. */
  of(chart: string): readonly ActorView[] {
    return [...this.#actors]
      .filter((actor) => chartOf(actor) === chart && isActive(actor))
      .flatMap(actorView);
  }

  /** Also one of another system. */
  add(actor: AnyActorRef): void {
    const chart = chartOf(actor);
    if (chart !== undefined && chart !== 'pod') this.#actors.add(actor);
  }
}

function isActive(actor: AnyActorRef): boolean {
  return (actor.getSnapshot() as SeenSnapshot).status === 'active';
}

/** The name under which `statelet charts` prints it. */
function chartOf(actor: AnyActorRef): string | undefined {
  return (actor as unknown as { readonly logic?: SeenLogic }).logic?.id;
}

/** Empty for an actor that is no machine. */
export function actorView(actor: AnyActorRef): readonly ActorView[] {
  const { _nodes: nodes } = actor.getSnapshot() as SeenSnapshot;
  const chart = chartOf(actor);
  if (nodes === undefined || chart === undefined) return [];
  const innermost = nodes.filter(({ type }) => type === 'atomic' || type === 'final');
  return [{ chart, actor: actor.id, states: innermost.map(({ path }) => path.join('.')) }];
}
