/** The list of charts with the states of their actors, and one chart with one of its actors. */
import { html, nothing, type TemplateResult } from 'lit-html';
import type { ActorsInState, ChartActivity, DrawnChart } from '../../types/page-views.ts';
import { axisView, type Zoom } from './axis-view.ts';
import type { Camera } from './chart-camera.ts';
import { chartLook, transitionList } from './chart-view.ts';
import { stateKind, timeLegend } from './health-view.ts';
import { actorLanes, type Span } from './lanes.ts';
import type { Sight } from './news.ts';

/** So many states of each chart are listed. */
const LISTED_MAX = 6;

/** Charts with actors come first. */
export function chartList(
  charts: readonly DrawnChart[],
  activities: readonly ChartActivity[],
): TemplateResult {
  const of = new Map(activities.map((activity) => [activity.chart, activity]));
  const isUsed = ({ name }: DrawnChart) => of.has(name);
  return html`<h1>Charts</h1>
    <ul class="cards">
      ${[...charts.filter(isUsed), ...charts.filter((chart) => !isUsed(chart))].map((chart) => chartCard(chart, of.get(chart.name)))}
    </ul>
    ${timeLegend()}`;
}

function chartCard(chart: DrawnChart, activity: ChartActivity | undefined): TemplateResult {
  const { name, about } = chart;
  const { actors = 0, states = [] } = activity ?? {};
  const rest = states.length - LISTED_MAX;
  return html`<li class=${actors === 0 ? 'unused' : ''}>
    <h2>
      <a href="#/chart/${name}">${name}</a>
      <span class="none"
        >${actors === 0 ? 'no actor runs' : actors === 1 ? '1 actor' : `${actors} actors`}</span
      >
    </h2>
    <p>${about}</p>
    <ul class="activity">
      ${states.slice(0, LISTED_MAX).map((one) => activityItem(chart, one, actors))}
      ${rest > 0 ? html`<li class="none">and ${rest} more states</li>` : nothing}
    </ul>
  </li>`;
}

function activityItem(
  chart: DrawnChart,
  { state, count, actor }: ActorsInState,
  actors: number,
): TemplateResult {
  const says = saysOf(chart, state);
  return html`<li>
    <i class="swatch ${kindOf(chart, state)}"></i>
    <a href=${hrefOf(chart.name, state, actor)}>${state}</a
    >${actors > 1 ? html` <b>${count}</b>` : nothing}${says === '' ? '' : `: ${says}`}
  </li>`;
}

/** For a state in a region, the lane has only the end of its name. */
function saysOf({ states }: DrawnChart, state: string): string {
  const found = states.find(({ id }) => id === state) ?? states.find(({ id }) => id.endsWith(`.${state}`));
  return found?.says ?? '';
}

function kindOf(chart: DrawnChart, state: string): Span['kind'] {
  const kind = stateKind(state);
  return kind === 'calm' && /\bwaits?\b|\bawaited\b/u.test(saysOf(chart, state)) ? 'wait' : kind;
}

/** For pods, the link leads to the list of all pods in that state. */
function hrefOf(chart: string, state: string, actor: string): string {
  return chart === 'pod' ? `#/?search=${state}` : `#/chart/${chart}?actor=${encodeURIComponent(actor)}`;
}

export interface ChartPageInput {
  readonly chart: DrawnChart;
  readonly sight: Sight;
  readonly nowMs: number;
  /** How many pods are in each state, for the chart of pods. */
  readonly counts: ReadonlyMap<string, number> | undefined;
  /** The actor in the address, if any. */
  readonly actor: string | null;
  readonly onActor: (actor: string) => void;
  readonly zoom: Zoom;
  readonly onZoom: (zoom: Zoom) => void;
  readonly camera: Camera;
  readonly open: string;
  readonly onOpen: (open: string) => void;
}

export function chartPage(input: ChartPageInput): TemplateResult {
  const { chart, sight, nowMs, counts, zoom, onZoom, camera, open, onOpen } = input;
  const { actors, transitions, lost } = sight;
  const actor = actors.find((one) => one.actor === input.actor) ?? actors[0];
  const own = transitions.filter((one) => actor === undefined || one.actor === actor.actor);
  // The chart of pods shows all actors at once.
  const lanes = actor === undefined ? [] : actorLanes(own.toReversed(), (state) => kindOf(chart, state));
  const states = actor?.states;
  return html`<h1>${chart.name}</h1>
    <p>${chart.about}</p>
    ${
      actors.length < 2
        ? nothing
        : html`<label
            >Actor
            <select @change=${({ target }: Event) => input.onActor((target as HTMLSelectElement).value)}>
              ${actors.map(
                (one) => html`<option value=${one.actor} .selected=${one === actor}>${one.actor}</option>`,
              )}
            </select></label
          >`
    }
    ${lanes.length === 0 ? nothing : axisView({ lanes, nowMs, isLive: true, zoom, onZoom })}
    <div class="beside">
      ${chartLook({ chart, states, transitions: own, nowMs, counts, camera, open, onOpen })}
      <div>
        ${actor === undefined ? nothing : html`<h2>${actor.actor}</h2>`}
        <ul>
          ${(states ?? []).map((state) => html`<li><b>${state}</b>: ${saysOf(chart, state)}</li>`)}
        </ul>
        <h2>Transitions</h2>
        ${transitionList(own, lost)}
      </div>
    </div>`;
}
