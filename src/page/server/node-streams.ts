/**
 * The node and all of its actors: its pressure and which pods would be evicted next, the states of the actors of each chart, and which pods are gone.
 */
import type { ServerResponse } from 'node:http';
import {
  candidateRows,
  oneRankingOfEach,
  rankingTitle,
  thresholdRow,
} from '../../agent/policies/eviction/explanation-tables.ts';
import type { EvictionExplanation } from '../../agent/policies/eviction/explanation.ts';
import { Timer } from '../../system/timer.ts';
import type { PageNews, PressureView } from '../../types/page-views.ts';
import type { Transition } from '../../types/transition.ts';
import { recordedFigures } from '../../recorder/policies/recorded-figures.ts';
import { streamSight } from './look-stream.ts';
import { NewsStream } from './news-stream.ts';
import type { PageSource } from './overview-stream.ts';

/** The node is measured for it. */
const PRESSURE_PERIOD_MS = 10_000;
const CHARTS_PERIOD_MS = 1_000;
/** After an answer that took long the next one waits longer. */
const REST_FACTOR = 20;
const GONE_PERIOD_MS = 5_000;
/** So many pods of each ranking are named. */
const RANKED_MAX = 10;

export function streamNode(source: PageSource, response: ServerResponse): void {
  const { facts, clock } = source;
  let pressure: PressureView | null = null;
  const isOf = (transition: Transition) => {
    const { chart, from, to } = transition;
    return (
      chart === 'eviction' &&
      (pressurePart(from) !== pressurePart(to) || recordedFigures(transition).length > 0)
    );
  };
  streamSight(source, response, {
    isOf,
    keeps: isOf,
    wants: (actor) => actor === 'eviction',
    hasPod: () => false,
    now: () => [{ type: 'pressure', startedMs: source.startedMs, pressure, events: facts.nodeEvents() }],
    begin: (wake) => {
      const timer = new Timer(clock);
      let isOver = false;
      const measure = async () => {
        const explanation = await source.explain().catch(() => undefined);
        if (isOver) return;
        pressure = explanation === undefined ? null : pressureView(explanation, clock.now());
        wake();
        timer.arm(PRESSURE_PERIOD_MS, () => void measure());
      };
      void measure();
      return () => {
        isOver = true;
        timer.disarm();
      };
    },
  });
}

/** `Pressure.Memory.Absent,Disk.Absent,…`: the conditions are the last region of the chart. */
const pressurePart = (state: string): string => state.slice(state.indexOf('Pressure.'));

function pressureView(explanation: EvictionExplanation, measuredMs: number): PressureView {
  const { thresholds, figures = [] } = explanation;
  const rankings = oneRankingOfEach(explanation).map((ranking) => {
    const { resource, candidates } = ranking;
    const { victim } = thresholds.find((one) => one.resource === resource && one.victim !== undefined) ?? {};
    const at = candidates.findIndex(({ namespace, name }) => `${namespace}/${name}` === victim);
    const [, , , uses = '', requests = '', priority = '', note = ''] = candidateRows(ranking)[at] ?? [];
    const parts = [
      `uses ${uses}`,
      ...(requests === '' ? [] : [`requests ${requests}`]),
      `priority ${priority}`,
      note,
    ];
    const next = at < 0 ? 'no pod that may go' : `${victim}: ${parts.filter(Boolean).join(', ')}`;
    return { resource, title: rankingTitle(ranking), next, rows: candidateRows(ranking, RANKED_MAX) };
  });
  return { thresholds: thresholds.map(thresholdRow), rankings, measuredMs, figures };
}

export function streamCharts({ facts, clock }: PageSource, response: ServerResponse): void {
  repeat(response, clock, () => {
    const beforeMs = performance.now();
    const news: PageNews = { type: 'charts', charts: facts.charts() };
    const tookMs = performance.now() - beforeMs;
    return Promise.resolve({ news, nextMs: Math.max(CHARTS_PERIOD_MS, tookMs * REST_FACTOR) });
  });
}

export function streamGone({ facts, clock, lives }: PageSource, response: ServerResponse): void {
  repeat(response, clock, async () => {
    const known = (await lives?.().catch(() => undefined)) ?? [];
    return { news: { type: 'gone', rows: facts.gone(known) }, nextMs: GONE_PERIOD_MS };
  });
}

/** Sends what has changed, for as long as the browser listens. */
function repeat(
  response: ServerResponse,
  clock: PageSource['clock'],
  look: () => Promise<{ readonly news: PageNews; readonly nextMs: number }>,
): void {
  const timer = new Timer(clock);
  let sent = '';
  const stream = new NewsStream(response, {
    ...{ clock, pauseMs: 0 },
    flush: () => undefined,
    onEnd: () => timer.disarm(),
  });
  const show = async () => {
    const { news, nextMs } = await look();
    if (response.destroyed) return;
    timer.arm(nextMs, () => void show());
    const text = JSON.stringify(news);
    if (text === sent || response.writableNeedDrain) return;
    sent = text;
    stream.send(news);
  };
  void show();
}
