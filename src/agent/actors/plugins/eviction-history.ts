/** What is known of evictions and disruption budgets, for plugins that choose among candidates. No pass waits for the API server. */
import { hasReason } from '../../cluster/service/api-error.ts';
import {
  type DisruptionBudget,
  evictionRecord,
  HISTORY_MS,
  ownerOf,
  type PastEviction,
} from '../../policies/eviction-plugins/eviction-records.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { EvictionRecord } from '../../../types/eviction-plugin.ts';
import type { Pod } from '../../../types/kubernetes.ts';

/** Of a namespace. Rejects with the server's error. */
export type ReadBudgets = (namespace: string) => Promise<readonly DisruptionBudget[]>;

/** As the server had them; undefined while they are not known. */
interface KnownBudgets {
  budgets: readonly DisruptionBudget[] | undefined;
  /** When they are read again. */
  dueMs: number;
  isRead: boolean;
}

const EVICTIONS_MAX = 1_000;
const NAMESPACES_MAX = 1_000;
const READ_AGAIN_MS = 30_000;
const REFUSED_AGAIN_MS = 10 * 60_000;

export class EvictionHistory {
  readonly #context: AgentContext;
  readonly #readBudgets: ReadBudgets | undefined;
  readonly #budgets = new Map<string, KnownBudgets>();
  #evictions: readonly PastEviction[] = [];
  #problem: string | undefined;

  /** Without `readBudgets` there is no cluster, and no pod has a budget. */
  constructor(context: AgentContext, readBudgets?: ReadBudgets) {
    this.#context = context;
    this.#readBudgets = readBudgets;
  }

  evicted(pod: Pod): void {
    const one = { owner: ownerOf(pod), atMs: this.#context.clock.now() };
    this.#evictions = [...this.#recent(), one].slice(-EVICTIONS_MAX);
  }

  /** A pod whose budgets are not known has no record: a record says whether the pod has a budget. */
  of(pods: readonly Pod[]): readonly EvictionRecord[] {
    const history = this.#recent();
    return pods.flatMap((pod) => {
      const budgets = this.#budgetsOf(pod.metadata.namespace);
      return budgets === undefined ? [] : [evictionRecord(pod, budgets, history)];
    });
  }

  #recent(): readonly PastEviction[] {
    const oldest = this.#context.clock.now() - HISTORY_MS;
    return this.#evictions.filter(({ atMs }) => atMs > oldest);
  }

  #budgetsOf(namespace: string): readonly DisruptionBudget[] | undefined {
    const read = this.#readBudgets;
    if (read === undefined) return [];
    if (this.#budgets.size >= NAMESPACES_MAX && !this.#budgets.has(namespace)) this.#budgets.clear();
    const known = this.#budgets.get(namespace) ?? { budgets: undefined, dueMs: 0, isRead: false };
    this.#budgets.set(namespace, known);
    if (!known.isRead && this.#context.clock.now() >= known.dueMs) void this.#read(namespace, known, read);
    return known.budgets;
  }

  async #read(namespace: string, known: KnownBudgets, read: ReadBudgets): Promise<void> {
    known.isRead = true;
    let waitMs = READ_AGAIN_MS;
    try {
      known.budgets = await read(namespace);
    } catch (error) {
      known.budgets = undefined;
      if (hasReason(error, 'Forbidden')) waitMs = REFUSED_AGAIN_MS;
      this.#logOnce(errorMessage(error));
    }
    known.isRead = false;
    known.dueMs = this.#context.clock.now() + waitMs;
  }

  /** Logs a problem once, not for each namespace. */
  #logOnce(problem: string): void {
    if (this.#problem !== undefined) return;
    this.#problem = problem;
    const line =
      'Eviction plugins: plugins do not get disruption budgets: the user of evictionPlugins.taintsKubeconfig ' +
      `must be allowed to list poddisruptionbudgets: ${problem}`;
    this.#context.logger.info({}, line);
  }
}
