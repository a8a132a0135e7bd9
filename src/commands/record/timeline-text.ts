/** A line for each entry of the flight recorder, in the notation of the charts: `event: from → to [guard] / actions`. */
import { oneLine } from '../../policies/formats/terminal-text.ts';
import { podOfActor } from '../../policies/record/record-entry.ts';
import type { RecordEntry } from '../../policies/record/record-reader.ts';
import type { Transition } from '../../types/transition.ts';

const CHART_WIDTH = 10;
const EVENT_WIDTH = 15;

export class TimelineText {
  /** What is said before the next transition. */
  #before: string[] = [];
  #uid = '';

  of(entry: RecordEntry): string {
    switch (entry.type) {
      case 'began':
        this.#before = [
          line(
            `${timeOf(entry.atMs)}  --- statelet ${entry.program} records, process ${entry.pid}, node ${entry.node}`,
          ),
        ];
        return '';
      case 'lost':
        return line(
          `${timeOf(entry.atMs)}  --- ${entry.count} transitions before this are missing: the disk was full or too slow`,
        );
      case 'unknown':
        return line(
          `--- the record of a newer Statelet follows (format ${entry.version}), which this one cannot read`,
        );
      case 'transition':
        return this.#transition(entry.transition);
    }
  }

  #transition({ atMs, chart, actor, event, from, to, guard, actions }: Transition): string {
    const pod = podOfActor(actor);
    if (pod !== undefined && pod.uid !== this.#uid) {
      this.#uid = pod.uid;
      this.#before.push(line(`${timeOf(atMs)}  --- pod ${pod.namespace}/${pod.name}, UID ${pod.uid}`));
    }
    const before = this.#before.join('');
    this.#before = [];
    const way = from === to ? to : `${from} → ${to}`;
    const decided = guard === undefined ? '' : ` [${guard}]`;
    const done = actions.length === 0 ? '' : ` / ${actions.join(', ')}`;
    const who = pod === undefined || chart === 'pod' ? nodeActor(chart, actor) : `${chart} ${pod.part}`;
    const columns = [timeOf(atMs), who.padEnd(CHART_WIDTH), event.padEnd(EVENT_WIDTH), way];
    return before + line(columns.join('  ') + decided + done);
  }
}

/** A record may be a file of others: nothing in it makes a second line. */
function line(text: string): string {
  return `${oneLine(text)}\n`;
}

/** `plugin` has several actors, `eviction` one. */
function nodeActor(chart: string, actor: string): string {
  return chart === 'plugin' || chart === 'certificate' ? actor : chart;
}

/** In UTC, with milliseconds. */
function timeOf(unixMs: number): string {
  return new Date(unixMs).toISOString();
}
