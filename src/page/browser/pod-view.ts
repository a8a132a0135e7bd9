/** One pod: what it does and why, its chart, its containers with their probes, and what happened. */
import { html, nothing, type TemplateResult } from 'lit-html';
import type { Container, ContainerStatus, CoreEvent } from '../../types/kubernetes.ts';
import type { DrawnChart, PodView } from '../../types/page-views.ts';
import { axisView, type Zoom } from './axis-view.ts';
import { chartView, transitionList } from './chart-view.ts';
import { podLanes } from './lanes.ts';
import type { Sight } from './news.ts';
import { clockTime, duration } from './page-times.ts';
import { kindOf } from './pod-list.ts';

export interface PodPageInput {
  readonly name: string;
  readonly sight: Sight;
  readonly chart: DrawnChart | undefined;
  readonly nowMs: number;
  readonly zoom: Zoom;
  readonly onZoom: (zoom: Zoom) => void;
}

export function podPage({ name, sight, chart, nowMs, zoom, onZoom }: PodPageInput): TemplateResult {
  const { pod, sentences } = sight;
  const said = sentences.map((sentence) => html`<p>${sentence}</p>`);
  if (pod === undefined) return html`<h1>${name}</h1>`;
  const axis = axisView({ lanes: podLanes(sight), zoom, nowMs, isLive: pod !== null, onZoom });
  const seen = html`${axis}${beside({ chart, sight, nowMs, rest: pod === null ? nothing : details(pod, nowMs) })}`;
  if (pod === null) {
    return html`<h1>${name}</h1>
      ${said}
      <p>This pod is not on this node.</p>
      ${sight.transitions.length === 0 ? nothing : seen}`;
  }
  const { state, sinceMs, nextTryMs, phase } = pod.row;
  const wait = nextTryMs !== undefined && nextTryMs > nowMs;
  return html`
    <h1>${name}</h1>
    <p class="facts">
      <span class="badge ${kindOf(state)}" id="state">${state}</span>
      ${sinceMs === undefined ? nothing : html`for ${duration(nowMs - sinceMs)}`}
      ${phase === '' ? nothing : html`· ${phase}`}
      ${wait ? html`· next ${kindOf(state) === 'rest' ? 'sync' : 'try'} in <b>${duration(nextTryMs - nowMs)}</b>, at ${clockTime(nextTryMs)}` : nothing}
    </p>
    <div class="why">${said}</div>
    ${seen}
  `;
}

interface Beside extends Pick<PodPageInput, 'chart' | 'sight' | 'nowMs'> {
  readonly rest: TemplateResult | typeof nothing;
}

/** The chart, with what happened beside it. The last state of a pod that has gone stays lit. */
function beside({ chart, sight, nowMs, rest }: Beside): TemplateResult {
  const { transitions, lost, actors } = sight;
  const last = transitions.find((transition) => transition.chart === 'pod')?.to;
  const states = actors[0]?.states ?? (last === undefined ? undefined : [last]);
  return html`<div class="beside">
    ${chart === undefined ? nothing : chartView({ chart, states, transitions, nowMs })}
    <div>
      <h2>Transitions</h2>
      ${transitionList(transitions, lost)} ${rest}
    </div>
  </div>`;
}

function details(pod: PodView, nowMs: number): TemplateResult {
  return html`<h2>Containers</h2>
    ${containers(pod, nowMs)}
    <h2>Events</h2>
    ${events(pod.events, nowMs)}`;
}

function containers({ pod, status }: PodView, nowMs: number): TemplateResult {
  const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return html`<ul class="containers">
    ${all.map((container) => {
      const own = statuses.find(({ name }) => name === container.name);
      return html`<li>
        <b>${container.name}</b> ${container.image ?? ''}
        <div>
          ${containerState(own, nowMs)}${own === undefined ? '' : `, restarted ${own.restartCount} times`}
        </div>
        ${probes(container, own)}
      </li>`;
    })}
  </ul>`;
}

function containerState(status: ContainerStatus | undefined, nowMs: number): string {
  const { waiting, running, terminated } = status?.state ?? {};
  if (running != null) {
    const sinceMs = Date.parse(String(running.startedAt));
    return Number.isNaN(sinceMs) ? 'runs' : `runs for ${duration(nowMs - sinceMs)}`;
  }
  if (terminated != null)
    return `ended with exit code ${terminated.exitCode} (${terminated.reason ?? 'Unknown'})`;
  if (waiting != null) return `waits: ${waiting.reason ?? ''} ${waiting.message ?? ''}`;
  return 'is not there yet';
}

function probes(container: Container, status: ContainerStatus | undefined): TemplateResult | typeof nothing {
  const said = [
    container.startupProbe && `startup: ${status?.started === true ? 'has started' : 'has not started'}`,
    container.readinessProbe && `readiness: ${status?.ready === true ? 'is ready' : 'is not ready'}`,
    container.livenessProbe && 'liveness: is probed',
  ].filter((text) => text !== undefined);
  return said.length === 0 ? nothing : html`<div class="probes">${said.join(' · ')}</div>`;
}

function events(list: readonly CoreEvent[], nowMs: number): TemplateResult {
  if (list.length === 0) return html`<p class="none">None is kept.</p>`;
  return html`<ol class="events">
    ${list.toReversed().map((event) => {
      const atMs = Date.parse(
        String(event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp),
      );
      return html`<li class=${event.type === 'Warning' ? 'bad' : ''}>
        <time>${Number.isNaN(atMs) ? '' : `${clockTime(atMs)} (${duration(nowMs - atMs)} ago)`}</time>
        <b>${event.reason}</b> ${event.message}${(event.count ?? 1) > 1 ? ` (${event.count} times)` : ''}
      </li>`;
    })}
  </ol>`;
}
