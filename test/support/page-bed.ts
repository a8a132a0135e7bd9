/** A page server with made-up pods: its facts can be changed, and its listeners counted. */
import { fileURLToPath } from 'node:url';
import type { EvictionExplanation } from '../../src/agent/policies/eviction/explanation.ts';
import { pageRoutes, type PageServer, startPageServer } from '../../src/page/server/page-server.ts';
import type { PageChanges, PageSource } from '../../src/page/server/overview-stream.ts';
import { systemClock } from '../../src/system/timer.ts';
import type { Clock } from '../../src/types/clock.ts';
import type { CoreEvent } from '../../src/types/kubernetes.ts';
import type { ChartActivity, GoneRow, PodRow, PodView } from '../../src/types/page-views.ts';
import type { Transition } from '../../src/types/transition.ts';

export function podRow(name: string, more: Partial<PodRow> = {}): PodRow {
  return {
    uid: `uid-${name}`,
    namespace: 'default',
    name,
    status: 'Running',
    health: { kind: 'ok' },
    state: 'Syncing.Settled',
    phase: 'Running',
    ready: 1,
    containers: 1,
    restarts: 0,
    says: 'runs as its spec says.',
    ...more,
  };
}

export class PageBed {
  readonly rows = new Map<string, PodRow>();
  readonly listeners = new Set<PageChanges>();
  readonly warnings: string[] = [];
  /** How often a row was made. */
  made = 0;
  /** How often the node was measured. */
  measured = 0;
  pod: PodView | undefined;
  events: readonly CoreEvent[] = [];
  /** The recorded transitions of all actors. */
  recorded: readonly Transition[] = [];
  charts: readonly ChartActivity[] = [];
  gone: readonly GoneRow[] = [];
  explanation: EvictionExplanation | undefined;
  readonly #clock: Clock;
  #server: PageServer | undefined;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  get url(): string {
    return this.#server?.url ?? '';
  }

  async open(host = '127.0.0.1'): Promise<this> {
    this.#server = await startPageServer({
      host,
      port: 0,
      flag: '--ui=HOST:PORT',
      routes: pageRoutes(() => Promise.resolve(this.#source())),
      logger: { warn: (_, message) => void this.warnings.push(message) },
      folder: fileURLToPath(new URL('../../dist/ui', import.meta.url)),
    });
    return this;
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }

  put(row: PodRow): void {
    this.rows.set(row.uid, row);
    for (const { podChanged } of this.listeners) podChanged(row.uid);
  }

  #source(): PageSource {
    const { rows } = this;
    return {
      clock: this.#clock,
      facts: {
        get total() {
          return rows.size;
        },
        now: () => systemClock.now(),
        uids: () => [...rows.keys()],
        row: (uid) => {
          this.made += 1;
          return rows.get(uid);
        },
        eventsOf: (uid) => this.events.filter(({ involvedObject }) => involvedObject.uid === uid),
        eventsByUID: () => new Map(),
        pod: (_, name) => (this.pod?.row.name === name ? this.pod : undefined),
        gonePod: (namespace, name) => ({ sentences: [`Nothing is known of ${namespace}/${name}.`] }),
        node: () => ({
          name: 'node-a',
          isReady: true,
          sentences: ['Node node-a is ready.'],
          conditions: [],
          room: [{ resource: 'cpu', requested: 500, allocatable: 2000 }],
          version: '0.0.0',
        }),
        actors: (chart) => [{ chart, actor: chart, states: ['Waiting'] }],
        actorOfPod: () => [],
        charts: () => this.charts,
        nodeEvents: () => this.events,
        gone: () => this.gone,
      },
      startedMs: systemClock.now() - 3_600_000,
      explain: () => {
        this.measured += 1;
        return Promise.resolve(this.explanation);
      },
      recorded: (namespace, name) =>
        Promise.resolve({
          sentences: [`The record has ${namespace}/${name}.`],
          end: { status: 'Error', kind: 'failed' },
        }),
      lives: () => Promise.resolve([]),
      history: (wants, keeps = () => true) =>
        Promise.resolve(this.recorded.filter((one) => wants(one.actor) && keeps(one))),
      watch: (listener) => {
        this.listeners.add(listener);
        return () => this.listeners.delete(listener);
      },
    };
  }
}
