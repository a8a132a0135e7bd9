/** One pod: its sentence of `statelet why`, its chart, its containers with their probes, and its events. */
import { html, nothing, type TemplateResult } from 'lit-html';
import type { Container, ContainerStatus } from '../../types/kubernetes.ts';
import type { DrawnChart, PodHealth, PodView } from '../../types/page-views.ts';
import { axisView, type Zoom } from './axis-view.ts';
import type { Camera } from './chart-camera.ts';
import { chartLook, transitionList } from './chart-view.ts';
import { badge, HEALTH, healthAt } from './health-view.ts';
import { podLanes } from './pod-lanes.ts';
import type { Sight } from './news.ts';
import { clockTime, duration } from './page-times.ts';
import { eventList } from './node-view.ts';

export interface PodPageInput {
  readonly name: string;
  readonly sight: Sight;
  readonly chart: DrawnChart | undefined;
  readonly nowMs: number;
  readonly zoom: Zoom;
  readonly onZoom: (zoom: Zoom) => void;
  readonly camera: Camera;
  readonly open: string;
  readonly onOpen: (open: string) => void;
}

export function podPage(input: PodPageInput): TemplateResult {
  const { name, sight, nowMs, zoom, onZoom } = input;
  const { pod, sentences, end } = sight;
  const said = sentences.map((sentence) => html`<p>${sentence}</p>`);
  if (pod === undefined) return html`<h1>${name}</h1>`;
  const health = pod === null ? undefined : healthAt(pod.row, nowMs);
  const kind = health?.kind ?? end?.kind;
  const lanes = podLanes({ ...sight, health: kind });
  const axis = axisView({ lanes, zoom, nowMs, isLive: pod !== null, onZoom });
  const seen = html`${axis}${beside(input, pod)}`;
  if (pod === null || health === undefined) {
    return html`<h1>${name} ${end === undefined ? nothing : badge(end.kind, end.status)}</h1>
      <div class="why">${said}</div>
      <p>
        This pod is not on this
        node.${sight.transitions.length === 0 ? '' : ' This is what is recorded of it:'}
      </p>
      ${sight.transitions.length === 0 ? nothing : seen}`;
  }
  return html`
    <h1>${name} ${badge(health.kind, pod.row.status)}</h1>
    <p class="facts">${facts(pod, health, nowMs)}</p>
    <div class="why">${said}</div>
    ${seen}
  `;
}

function facts(pod: PodView, health: PodHealth, nowMs: number): TemplateResult {
  const { row } = pod;
  const { state, nextTryMs, ready, containers, restarts } = row;
  const { kind, because, sinceMs } = health;
  const wait = nextTryMs !== undefined && nextTryMs > nowMs;
  const since = (ms: number | undefined) => (ms === undefined ? '' : ` for ${duration(nowMs - ms)}`);
  const why = because === undefined ? '' : `, as it ${because}`;
  return html`<b>${HEALTH[kind].words}</b>${since(sinceMs)}${why} · ${ready}/${containers} ready · restarted
    ${restarts} times · chart in <code id="state">${state}</code>${since(row.sinceMs)} ${resize(pod)}
    ${wait ? html`· next ${state === 'Syncing.Settled' ? 'sync' : 'try'} in <b>${duration(nextTryMs - nowMs)}</b>, at ${clockTime(nextTryMs)}` : nothing}`;
}

/** A resize has a chart of its own, as long as it lasts. */
function resize({ row, status }: PodView): TemplateResult | typeof nothing {
  const { namespace, name, uid } = row;
  const stages = (status?.conditions ?? []).flatMap(({ type, reason }) => {
    if (type === 'PodResizePending') return [reason ?? 'pending'];
    return type === 'PodResizeInProgress' ? [reason ? `in progress: ${reason}` : 'in progress'] : [];
  });
  if (stages.length === 0) return nothing;
  const actor = encodeURIComponent(`resize ${name}_${namespace} ${uid}`);
  return html`· <a href="#/chart/resize?actor=${actor}">resize</a> ${stages.join(', ')}`;
}

/** The chart, with events and transitions beside it. The last state of a pod that is gone stays lit. */
function beside(input: PodPageInput, pod: PodView | null): TemplateResult {
  const { chart, sight, nowMs, camera, open, onOpen } = input;
  const { transitions, lost, actors, last } = sight;
  const lastState = transitions.find((transition) => transition.chart === 'pod')?.to;
  const states = actors[0]?.states ?? (lastState === undefined ? undefined : [lastState]);
  return html`<div class="beside">
    <div>
      ${chart === undefined ? nothing : chartLook({ chart, states, transitions, nowMs, camera, open, onOpen })}
      ${
        pod === null
          ? nothing
          : html`<h2>Containers</h2>
              ${containers(pod, nowMs)}`
      }
    </div>
    <div>
      ${
        last === undefined
          ? nothing
          : html`<h2>Events</h2>
              ${eventList(last.events, nowMs)}`
      }
      <h2>Transitions</h2>
      ${transitionList(transitions, lost)}
    </div>
  </div>`;
}

function containers({ pod, status, row }: PodView, nowMs: number): TemplateResult {
  const hasEnded = row.state.startsWith('Terminated');
  const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return html`<ul class="containers">
    ${all.map((container) => {
      const own = statuses.find(({ name }) => name === container.name);
      return html`<li>
        <b>${container.name}</b> ${container.image ?? ''}
        <div>
          ${own === undefined && hasEnded ? 'has never run' : containerState(own, nowMs)}${own === undefined ? '' : `, restarted ${own.restartCount} times`}
        </div>
        ${devices(own)} ${hasEnded ? nothing : probes(container, own)}
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
  if (waiting != null) return ['waits', waiting.reason, waiting.message].filter(Boolean).join(': ');
  return 'is not there yet';
}

/** The devices of the container, with the health of each: `example.com/gpu gpu-1: Unhealthy`. */
function devices(status: ContainerStatus | undefined): readonly TemplateResult[] {
  return (status?.allocatedResourcesStatus ?? []).flatMap(({ name, resources = [] }) =>
    resources.map(
      ({ resourceID, health = 'Unknown' }) =>
        html`<div class=${health === 'Healthy' ? '' : 'device attention'}>
          ${name} ${resourceID}: ${health}
        </div>`,
    ),
  );
}

function probes(container: Container, status: ContainerStatus | undefined): TemplateResult | typeof nothing {
  const said = [
    container.startupProbe && `startup: ${status?.started === true ? 'has started' : 'has not started'}`,
    container.readinessProbe && `readiness: ${status?.ready === true ? 'is ready' : 'is not ready'}`,
    container.livenessProbe && 'liveness: is probed',
  ].filter((text) => text !== undefined);
  return said.length === 0 ? nothing : html`<div class="probes">${said.join(' · ')}</div>`;
}
