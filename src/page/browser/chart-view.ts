/** A chart, lit: where its actor is, where it can come next, and the latest transition. */
import { html, nothing, svg, type SVGTemplateResult, type TemplateResult } from 'lit-html';
import type { DrawnChart, DrawnEdge, DrawnState } from '../../types/page-views.ts';
import type { Transition } from '../../types/transition.ts';
import { exactTime } from './page-times.ts';

/** How long the line of a transition stays lit. */
const LIT_MS = 2_500;
const LISTED_MAX = 200;

export interface ChartInput {
  readonly chart: DrawnChart;
  /** The innermost states of the actor; undefined: of none. */
  readonly states: readonly string[] | undefined;
  /** The newest first. */
  readonly transitions: readonly Transition[];
  readonly nowMs: number;
  /** Written beside states: how many pods are in each. */
  readonly counts?: ReadonlyMap<string, number>;
}

export function chartView({ chart, states, transitions, nowMs, counts }: ChartInput): TemplateResult {
  const light = states && lightOf(chart, states);
  const fresh = transitions.filter(({ atMs, chart: of }) => of === chart.name && nowMs - atMs < LIT_MS);
  const lit = new Set(fresh.flatMap((transition) => linesOf(chart, transition)));
  const title = `The chart ${chart.name}${states === undefined ? '' : `, in ${states.join(' and ')}`}`;
  return html`<div class="chart" tabindex="0" role="region" aria-label=${title}>
    <svg
      viewBox="0 0 ${chart.width} ${chart.height}"
      width=${chart.width}
      height=${chart.height}
      role="img"
      aria-label=${title}
    >
      <defs>
        <marker
          id="tip"
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerWidth="7"
          markerHeight="7"
          orient="auto"
          markerUnits="userSpaceOnUse"
        >
          <path d="M0 0 8 4 0 8z" />
        </marker>
      </defs>
      ${chart.states.filter(({ id }) => id !== '').map((state) => stateShape(state, light, counts))}
      ${chart.dots.map(({ x, y, radius }) => svg`<circle class="dot" cx=${x} cy=${y} r=${radius} />`)}
      ${chart.edges.map((edge) => {
        const isOpen = light !== undefined && (edge.from === '' || light.active.has(edge.from));
        const kind = lit.has(edge) ? 'lit' : isOpen || light === undefined ? 'open' : 'pale';
        return svg`<g class="edge ${kind}">
          <path d=${edge.path} marker-end="url(#tip)" />
          ${edge.labels.map(({ x, y, text }) => svg`<text x=${x} y=${y}>${text}</text>`)}
        </g>`;
      })}
    </svg>
  </div>`;
}

function stateShape(
  { id, title, x, y, width, height, first, says, about }: DrawnState,
  light: Light | undefined,
  counts: ReadonlyMap<string, number> | undefined,
): SVGTemplateResult {
  const isComposite = first.length > 0;
  const count = counts?.get(id);
  return svg`<g class="state ${isComposite ? 'composite' : 'leaf'} ${lightKind(id, light)}" data-state=${id}>
    <title>${[id, says, about].filter((text) => text !== undefined).join('\n')}</title>
    <rect x=${x} y=${y} width=${width} height=${height} rx="6" />
    <text x=${x + 12} y=${isComposite ? y + 22 : y + height / 2 + 5}>${title}</text>
    ${
      count === undefined
        ? nothing
        : svg`<text class="count" x=${x + width - 6} y=${y - 4} text-anchor="end">${count}</text>`
    }
  </g>`;
}

function lightKind(id: string, light: Light | undefined): string {
  if (light === undefined) return '';
  if (light.active.has(id)) return 'active';
  return light.next.has(id) ? 'next' : 'pale';
}

/** The newest first. What happened before the page was opened is known where the flight recorder is on. */
export function transitionList(transitions: readonly Transition[], lost: number): TemplateResult {
  if (transitions.length === 0) return html`<p class="none">None is known.</p>`;
  return html`
    ${lost > 0 ? html`<p>${lost} more were left out: this browser did not keep up.</p>` : nothing}
    <ol class="transitions" tabindex="0" aria-label="Transitions">
      ${transitions.slice(0, LISTED_MAX).map(transitionItem)}
    </ol>
  `;
}

function transitionItem({ atMs, event, from, to, guard, actions, chart }: Transition): TemplateResult {
  return html`<li>
    <time>${exactTime(atMs)}</time> <b>${event}</b> ${guard === undefined ? nothing : html`<i>[${guard}]</i>`}
    <span class="way">${chart}: ${from === to ? from : `${from} → ${to}`}</span>
    ${actions.length === 0 ? nothing : html`<span class="actions">${actions.join(', ')}</span>`}
  </li>`;
}

// What of a chart is lit: where its actor is, where it can come next, and the line of the latest transition.

/** The state and those around it, without the machine itself. */
export function around(state: string): readonly string[] {
  const parts = state.split('.');
  return state === '' ? [] : parts.map((_, index) => parts.slice(0, index + 1).join('.'));
}

interface Light {
  /** States that the actor is in, with those around them. */
  readonly active: ReadonlySet<string>;
  /** States that the next transition can lead to, with those around them. */
  readonly next: ReadonlySet<string>;
}

export function lightOf(chart: DrawnChart, states: readonly string[]): Light {
  const active = new Set(states.flatMap(around));
  const isHere = (from: string) => from === '' || active.has(from);
  const targets = chart.ways.flatMap(({ from, to }) => (to !== undefined && isHere(from) ? [to] : []));
  const next = new Set(targets.flatMap((target) => entered(chart, target)).flatMap(around));
  return { active, next };
}

/** The innermost states that are entered with that one. */
export function entered(chart: DrawnChart, state: string): readonly string[] {
  const drawn = chart.states.find(({ id }) => id === state);
  if (drawn === undefined || drawn.first.length === 0) return [state];
  return drawn.first.flatMap((first) => entered(chart, first));
}

/** The lines that a transition has gone along: those of its event, or all between the two states. */
export function linesOf(chart: DrawnChart, { from, to, event }: Transition): readonly DrawnEdge[] {
  const sources = new Set(['', ...from.split(',').flatMap(around)]);
  const targets = new Set(to.split(',').flatMap(around));
  const between = chart.edges.filter((edge) => {
    const isNew = !sources.has(edge.to) || edge.to === edge.from;
    return sources.has(edge.from) && targets.has(edge.to) && isNew;
  });
  const named = between.filter(({ events }) => events.includes(event));
  return named.length > 0 ? named : between.slice(0, 1);
}
