/** A chart, lit: where its actor is, where it can come next, and the latest transition. */
import { html, nothing, svg, type SVGTemplateResult, type TemplateResult } from 'lit-html';
import type { DrawnChart, DrawnState } from '../types/page-views.ts';
import type { Transition } from '../types/transition.ts';
import { type Light, lightOf, linesOf } from './chart-states.ts';
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
