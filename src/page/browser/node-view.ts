/** The node: in short above the pods, and its own view with its pressure over time, and who would be evicted next. */
import { html, nothing, type TemplateResult } from 'lit-html';
import type { CoreEvent } from '../../types/kubernetes.ts';
import type { GoneRow, NodeView, RoomView } from '../../types/page-views.ts';
import { amount } from './amounts.ts';
import { axisView, type Zoom } from './axis-view.ts';
import { badge } from './health-view.ts';
import { eventLane } from './lanes.ts';
import type { Sight } from './news.ts';
import { clockTime, duration } from './page-times.ts';
import { podLink, searchOf } from './pod-list.ts';
import { levelLanes, pressureLanes, recordedMeasurements } from './pressure-lanes.ts';

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

// The view of the node alone.

export interface NodePageInput {
  readonly node: NodeView | undefined;
  readonly sight: Sight;
  readonly nowMs: number;
  readonly zoom: Zoom;
  readonly onZoom: (zoom: Zoom) => void;
}

export function nodePage({ node, sight, nowMs, zoom, onZoom }: NodePageInput): TemplateResult {
  const { pressure, transitions, measured, startedMs = nowMs, nodeEvents } = sight;
  const lanes = [
    ...pressureLanes(transitions.toReversed(), startedMs),
    ...levelLanes([...recordedMeasurements(transitions), ...measured]),
    eventLane(nodeEvents, true),
  ];
  return html`<h1>Node ${node?.name ?? ''}</h1>
    ${node === undefined ? nothing : nodeView(node)}
    <h2>Pressure</h2>
    ${axisView({ lanes, zoom, nowMs, isLive: true, onZoom })}
    <p class="none">
      As high as a bar is so much is left; it has the colour of what needs attention while that is below a
      threshold. The line is the hard threshold, the dashed one the soft one.
    </p>
    ${pressureView(pressure)}
    <h2>Events of the node</h2>
    ${eventList(nodeEvents, nowMs, true)}`;
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
      ({ title, rows }, index) =>
        html`<details ?open=${index === 0}>
          <summary>${title}</summary>
          ${rows.length === 0 ? html`<p class="none">There are none.</p>` : cells(title, CANDIDATES, rows)}
        </details>`,
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
              ${row.map((cell, column) => html`<td data-head=${heads[column] ?? ''}>${cell}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

// Lists of events, transitions and gone pods.

/** `isOfNode`: they are about the node and about pods, which are named. */
export function eventList(list: readonly CoreEvent[], nowMs: number, isOfNode = false): TemplateResult {
  if (list.length === 0) return html`<p class="none">None is kept.</p>`;
  return html`<ol class="events">
    ${list.toReversed().map((event) => {
      const atMs = Date.parse(
        String(event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp),
      );
      return html`<li class=${event.type === 'Warning' ? 'attention' : ''}>
        <time>${Number.isNaN(atMs) ? '' : `${clockTime(atMs)} (${duration(nowMs - atMs)} ago)`}</time>
        <b>${event.reason}</b>
        ${isOfNode ? about(event) : nothing}${event.message}${(event.count ?? 1) > 1 ? ` (${event.count} times)` : ''}
      </li>`;
    })}
  </ol>`;
}

function about({ involvedObject }: CoreEvent): TemplateResult | typeof nothing {
  const { kind, namespace = '', name = '' } = involvedObject;
  if (kind !== 'Pod') return nothing;
  return html`<a href=${podLink({ namespace, name })}>${namespace}/${name}</a>: `;
}

/** Pods that are gone, each with a link to its record. */
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
