/** The stream of one pod or one chart in view: its actors, and each of their transitions as it happens. */
import type { ServerResponse } from 'node:http';
import type { GonePod, PageNews } from '../../types/page-views.ts';
import type { Transition } from '../../types/transition.ts';
import { isRoutine } from '../../recorder/policies/record-entry.ts';
import { recordedFigures } from '../../recorder/policies/recorded-figures.ts';
import { Timer } from '../../system/timer.ts';
import { NewsStream } from './news-stream.ts';
import type { PageSource } from './overview-stream.ts';

const PAUSE_MS = 60;
/** A browser that is further behind gets the newest ones, and the number of those it has missed. */
const KEPT_MAX = 500;
/** The flight recorder writes what happens within this time: what is read then has no gap before the first live transition. */
const RECORDED_MS = 500;

/** What belongs to the pod or chart in view. */
interface Sight {
  readonly isOf: (transition: Transition) => boolean;
  readonly wants: (actor: string) => boolean;
  readonly hasPod: (uid: string) => boolean;
  /** The present messages. Messages that have not changed are not sent again. */
  readonly now: () => readonly PageNews[];
  /** Takes only these recorded transitions of the wanted actors. */
  readonly keeps?: (transition: Transition) => boolean;
  /** Begins further work for the view. `wake`: there is something new. Returns the function that ends the work. */
  readonly begin?: (wake: () => void) => () => void;
}

export function streamChart(source: PageSource, chart: string, response: ServerResponse): void {
  const { facts } = source;
  streamSight(source, response, {
    isOf: (transition) => transition.chart === chart,
    wants: (name) => facts.actors(chart).some(({ actor }) => actor === name),
    hasPod: () => false,
    now: () => [{ type: 'actors', actors: facts.actors(chart) }],
  });
}

export function streamPod(
  source: PageSource,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  response: ServerResponse,
): void {
  const { facts } = source;
  const actorStart = `${name}_${namespace} `;
  let uid: string | undefined;
  /** The record of the pod once it is gone. */
  let recorded: GonePod | undefined;
  const reading = new Timer(source.clock);
  let wake = (): void => undefined;
  const readRecord = async () => {
    recorded = await source.recorded?.(namespace, name).catch(() => undefined);
    if (recorded !== undefined) wake();
  };
  const wants = (actor: string) => actor.startsWith(actorStart) || (uid !== undefined && actor.includes(uid));
  streamSight(source, response, {
    // Runs of probes with an unchanged result would hide everything else.
    isOf: (transition) => wants(transition.actor) && !isRoutine(transition),
    wants,
    hasPod: (changed) => changed === uid || facts.row(changed, [])?.name === name,
    now: () => {
      const pod = facts.pod(namespace, name) ?? null;
      uid = pod?.row.uid ?? uid;
      if (pod !== null) recorded = undefined;
      else if (recorded === undefined && !reading.isArmed) reading.arm(RECORDED_MS, () => void readRecord());
      const known =
        pod === null ? (recorded ?? facts.gonePod(namespace, name)) : { sentences: pod.sentences };
      // Its last events may have come between two messages.
      const events = pod === null && uid !== undefined ? { events: facts.eventsOf(uid) } : {};
      return [
        { type: 'actors', actors: facts.actorOfPod(namespace, name) },
        { type: 'pod', pod, ...known, ...events },
      ];
    },
    begin: (tell) => {
      wake = tell;
      return () => reading.disarm();
    },
  });
}

export function streamSight(
  { watch, clock, history, facts }: PageSource,
  response: ServerResponse,
  sight: Sight,
): void {
  const sent = new Map<string, string>();
  let transitions: Transition[] = [];
  let lost = 0;
  const openedMs = facts.now();
  const reading = new Timer(clock);
  const end = watch({
    podChanged: (uid) => {
      if (sight.hasPod(uid)) stream.wake();
    },
    transition: (transition) => {
      if (!sight.isOf(transition)) return;
      transitions.push(transition);
      if (transitions.length > KEPT_MAX) {
        transitions.shift();
        lost += 1;
      }
      stream.wake();
    },
  });
  const flush = () => {
    if (transitions.length > 0) stream.send({ type: 'transitions', transitions, lost });
    [transitions, lost] = [[], 0];
    for (const news of sight.now()) {
      const text = JSON.stringify(news);
      if (sent.get(news.type) === text) continue;
      sent.set(news.type, text);
      stream.send(news);
    }
  };
  const onEnd = () => {
    reading.disarm();
    end();
    endMore?.();
  };
  const stream = new NewsStream(response, { clock, pauseMs: PAUSE_MS, flush, onEnd });
  const endMore = sight.begin?.(() => stream.wake());
  flush();
  const sendPast = async () => {
    const recorded = (await history?.(sight.wants, sight.keeps).catch(() => undefined)) ?? [];
    const past = recorded.filter((one) => one.atMs < openedMs && sight.isOf(one)).map(withoutData);
    if (past.length > 0 && !response.destroyed) stream.send({ type: 'past', transitions: past });
  };
  if (history !== undefined) reading.arm(RECORDED_MS, () => void sendPast());
}

/** Of the data of events, only the outcomes of probes and the figures of the node are shown. */
function withoutData(recorded: Transition): Transition {
  const { data, ...transition } = recorded;
  if (transition.event === 'PROBED' && data !== undefined) return { ...transition, data };
  const figures = recordedFigures(recorded);
  return figures.length > 0 ? { ...transition, data: { figures } } : transition;
}
