/** The node: in short above the pods, and its own view with its pressure over time, and who would be evicted next. */
import { html, nothing, type TemplateResult } from 'lit-html';
import type { CoreEvent } from '../../types/kubernetes.ts';
import type { GoneRow, NodeView, RoomView } from '../../types/page-views.ts';
import type { Transition } from '../../types/transition.ts';
import { axisView, type Zoom } from './axis-view.ts';
import { badge } from './health-view.ts';
import { eventLane, type Lane, type Span } from './lanes.ts';
import type { Sight } from './news.ts';
import { clockTime, duration } from './page-times.ts';
import { podLink, searchOf } from './pod-list.ts';

export function nodeView(node: NodeView): TemplateResult {
  const { isReady, sentences, conditions, room, name } = node;
  return html`
    <section class="node" aria-label="Node">
      <div>
        <p>
          <a href="#/node"><b>${name}</b></a>
          ${badge(isReady ? 'ok' : 'attention', isReady ? 'Ready' : 'NotReady')}
          ${conditions.map((condition) => badge('attention', condition))}
        </p>
        ${sentences.map((sentence) => html`<p>${sentence}</p>`)}
      </div>
      <dl class="room">${room.map(roomView)}</dl>
    </section>
  `;
}

function roomView({ resource, requested, allocatable }: RoomView): TemplateResult {
  const share = allocatable === 0 ? 0 : Math.min(1, requested / allocatable);
  return html`<div>
    <dt>${resource}</dt>
    <dd>
      <meter min="0" max="1" value=${share} aria-label="${resource} requested"></meter>
      ${amount(resource, requested)} of ${amount(resource, allocatable)} requested
    </dd>
  </div>`;
}

const UNITS = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi'];

/** `cpu` in thousandths; pods as a count; all others in bytes. */
export function amount(resource: string, value: number): string {
  if (resource === 'cpu') return String(Math.round(value / 10) / 100);
  if (resource === 'pods') return String(value);
  const power = value === 0 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(value) / 10));
  const scaled = value / 1024 ** power;
  return `${scaled >= 100 ? Math.round(scaled) : Math.round(scaled * 10) / 10}${UNITS[power] ?? ''}`;
}

// The view of the node alone.

export interface NodePageInput {
  readonly node: NodeView | undefined;
  readonly sight: Sight;
  readonly nowMs: number;
  readonly zoom: Zoom;
  readonly onZoom: (zoom: Zoom) => void;
}

export function nodePage({ node, sight, nowMs, zoom, onZoom }: NodePageInput): TemplateResult {
  const { pressure, transitions, startedMs = nowMs, nodeEvents } = sight;
  const lanes = [...pressureLanes(transitions.toReversed(), startedMs), eventLane(nodeEvents)];
  return html`<h1>Node ${node?.name ?? ''}</h1>
    ${node === undefined ? nothing : nodeView(node)}
    <h2>Pressure</h2>
    ${axisView({ lanes, zoom, nowMs, isLive: true, onZoom })} ${pressureView(pressure)}
    <h2>Events of the node</h2>
    ${eventList(nodeEvents, nowMs)}`;
}

const CONDITIONS = ['Memory', 'Disk', 'PID'] as const;
const LINGERS: Partial<Span> = { kind: 'wait', text: 'was short a moment ago: the condition still holds' };

/** `ordered`: transitions of the chart of eviction. What was before the first one that is known is what it came from. */
export function pressureLanes(ordered: readonly Transition[], startedMs: number): readonly Lane[] {
  return CONDITIONS.map((condition) => {
    const spans: Span[] = [];
    const first = ordered[0];
    const add = (fromMs: number, state: string) => {
      const last = spans.at(-1);
      const next = pressureSpan(fromMs, state);
      if (last?.text === next.text) return;
      if (last !== undefined) spans[spans.length - 1] = { ...last, toMs: fromMs };
      spans.push(next);
    };
    add(Math.min(startedMs, first?.atMs ?? startedMs), conditionOf(first?.from ?? '', condition));
    for (const { atMs, to } of ordered) add(atMs, conditionOf(to, condition));
    return { name: `${condition}Pressure`, spans, marks: [] };
  });
}

function pressureSpan(fromMs: number, state: string): Span {
  const span: Span = { fromMs, toMs: undefined, kind: 'ok', text: 'no pressure' };
  if (state.endsWith('Lingering')) return { ...span, ...LINGERS };
  return state.startsWith('Present') ? { ...span, kind: 'attention', text: 'under pressure' } : span;
}

/** `Present.Observed` of `…,Pressure.Memory.Present.Observed,Disk.Absent,…`. */
function conditionOf(state: string, condition: string): string {
  const part = state.slice(Math.max(0, state.indexOf('Pressure.')));
  return new RegExp(`\\b${condition}\\.([\\w.]+)`, 'u').exec(part)?.[1] ?? 'Absent';
}

/** Of a signal that is not measured. */
const UNKNOWN = '<unknown>';
const THRESHOLDS = ['Signal', 'Now', 'Threshold', 'Kind', 'Met', 'Goes first'];
const CANDIDATES = ['Order', 'Namespace', 'Pod', 'Uses', 'Requests', 'Priority', 'Note'];

function pressureView(pressure: Sight['pressure']): TemplateResult {
  if (pressure === undefined) return html`<p class="none">The node is being measured …</p>`;
  if (pressure === null || pressure.thresholds.length === 0)
    return html`<p class="none">
      There are no eviction thresholds: no pod is evicted for what the node lacks.
    </p>`;
  const measured = pressure.thresholds.filter(([, now]) => now !== UNKNOWN);
  const others = pressure.thresholds.filter(([, now]) => now === UNKNOWN).map(([signal]) => signal);
  return html`<h2>Who would go next, and why</h2>
    <ul>
      ${pressure.rankings.map(({ resource, next }) => html`<li>For <b>${resource}</b>: ${next}</li>`)}
    </ul>
    <p>
      Pods go in this order: those that use more than they request, then those of lower priority, then those
      that are furthest above their requests. Critical ones never go.
    </p>
    ${cells('Thresholds', THRESHOLDS, measured)}
    ${others.length === 0 ? nothing : html`<p class="none">Not measured on this node: ${others.join(', ')}.</p>`}
    <p class="none">
      As <code>statelet explain-eviction</code> says it, measured every ten seconds while this view is open.
    </p>
    ${pressure.rankings.map(
      ({ title, rows }) =>
        html`<h3>${title}</h3>
          ${rows.length === 0 ? html`<p class="none">There are none.</p>` : cells(title, CANDIDATES, rows)}`,
    )}`;
}

function cells(name: string, heads: readonly string[], rows: readonly (readonly string[])[]): TemplateResult {
  return html`<div class="wide" tabindex="0" role="region" aria-label=${name}>
    <table class="cells">
      <thead>
        <tr>
          ${heads.map((head) => html`<th scope="col">${head}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr class=${row[4] === 'yes' ? 'met' : ''}>
              ${row.map((cell) => html`<td>${cell}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

// Lists of what happened.

export function eventList(list: readonly CoreEvent[], nowMs: number): TemplateResult {
  if (list.length === 0) return html`<p class="none">None is kept.</p>`;
  return html`<ol class="events">
    ${list.toReversed().map((event) => {
      const atMs = Date.parse(
        String(event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp),
      );
      return html`<li class=${event.type === 'Warning' ? 'attention' : ''}>
        <time>${Number.isNaN(atMs) ? '' : `${clockTime(atMs)} (${duration(nowMs - atMs)} ago)`}</time>
        <b>${event.reason}</b> ${event.message}${(event.count ?? 1) > 1 ? ` (${event.count} times)` : ''}
      </li>`;
    })}
  </ol>`;
}

/** Pods that have gone: each leads to what is recorded of it. */
export function goneList(
  rows: readonly GoneRow[] | undefined,
  search: string,
  nowMs: number,
): TemplateResult {
  if (rows === undefined) return html`<p class="none">The record is being read …</p>`;
  const isWanted = searchOf(search);
  const shown = rows.filter(({ namespace, name, status, says }) =>
    isWanted(`${namespace}/${name} ${status} ${says}`),
  );
  if (shown.length === 0) return html`<p class="none">No pod that has gone is known.</p>`;
  return html`<ul class="gone">
    ${shown.map(
      (row) =>
        html`<li>
          ${badge(row.kind, row.status)}
          <a href=${podLink(row)}><span class="namespace">${row.namespace}/</span>${row.name}</a>
          <span class="none"
            >${row.endedMs === undefined ? '' : `${clockTime(row.endedMs)} (${duration(nowMs - row.endedMs)} ago)`}</span
          >
          <p>${row.says}</p>
        </li>`,
    )}
  </ul>`;
}
