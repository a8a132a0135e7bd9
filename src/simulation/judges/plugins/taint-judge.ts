/** Compares taints of the node that are written for plugins with the conditions that plugins have reported. */
import type { PluginCondition } from '../../../types/eviction-plugin.ts';
import type { Node, Taint } from '../../../types/kubernetes.ts';

const PREFIX = 'katalyst.kubewharf.io/';

/** Judges all agents of a node: taints outlive an agent. */
export class TaintJudge {
  /** Whether there ever was such a taint, whoever set it. */
  hadNoExecute = false;
  readonly #violated: (what: string) => void;
  /** Keys and effects of all conditions that counted at any time. */
  readonly #reported = new Set<string>();

  constructor(violated: (what: string) => void) {
    this.#violated = violated;
  }

  observed({ name, type, effects }: PluginCondition): void {
    if (type !== 'NODE_CONDITION') return;
    for (const effect of effects) this.#reported.add(textOf({ key: PREFIX + name, effect }));
  }

  /** An agent, or somebody else, has changed the taints. */
  changed(before: Node, after: Node, byAgent: boolean): void {
    const [former, now] = [taintsOf(before), taintsOf(after)];
    this.hadNoExecute ||= now.some((text) => text.endsWith(':NoExecute'));
    if (!byAgent || former.join() === now.join()) return;
    const [others, othersNow] = [former, now].map((texts) =>
      texts.filter((text) => !text.startsWith(PREFIX)),
    );
    if (others?.join() !== othersNow?.join())
      this.#violated(
        `taints of others are changed from ${others?.join() ?? ''} to ${othersNow?.join() ?? ''}`,
      );
    const unknown = now.find((text) => text.startsWith(PREFIX) && !this.#reported.has(text));
    if (unknown !== undefined && !former.includes(unknown))
      this.#violated(`the taint ${unknown} is written, and no plugin has reported it`);
    if (new Set(now).size < now.length) this.#violated(`a taint stands twice: ${now.join()}`);
  }

  /** A taint that is left when no condition counts any more. */
  static leftOn(node: Node | undefined): string | undefined {
    return node === undefined ? undefined : taintsOf(node).find((text) => text.startsWith(PREFIX));
  }
}

function taintsOf({ spec }: Node): readonly string[] {
  return (spec?.taints ?? []).map(textOf);
}

const textOf = ({ key, effect }: Pick<Taint, 'key' | 'effect'>): string => `${key}:${effect}`;
