/**
 * A lit chart: its great states at first, and its drawing on demand, with the states of the actor, the states that can follow, and the latest
 * transition.
 */
import { html, nothing, svg, type SVGTemplateResult, type TemplateResult } from 'lit-html';
import type { DrawnChart, DrawnState } from '../../types/page-views.ts';
import type { Transition } from '../../types/transition.ts';
import { type Box, boxFor, type Camera, type Rect } from './chart-camera.ts';
import { type Light, lightOf, linesOf, withoutPath } from './chart-light.ts';
import { changedParts } from './lanes.ts';
import { exactTime } from './page-times.ts';

/** How long the line of a transition stays lit. */
const LIT_MS = 2_500;
const LISTED_MAX = 200;
/** The height of the window that the box of a drawing leaves free, and the least height of the box. */
const ROOM_BESIDE_PX = 120;
const ROOM_MIN_PX = 320;
const BORDER_PX = 2;
/** The margin around the shown state. */
const EDGE_PX = 24;

export interface ChartInput {
  readonly chart: DrawnChart;
  /** The innermost states of the actor; undefined: of none. */
  readonly states: readonly string[] | undefined;
  /** The newest first. */
  readonly transitions: readonly Transition[];
  readonly nowMs: number;
  /** Written beside states: how many pods are in each. */
  readonly counts?: ReadonlyMap<string, number> | undefined;
}

export interface ChartLookInput extends ChartInput {
  readonly camera: Camera;
  /** The great state whose drawing is open, `whole` for all; empty: none. */
  readonly open: string;
  readonly onOpen: (open: string) => void;
}

/** The outermost states, if there are states inside them. Otherwise the drawing is small, and is shown at once. */
export function chartLook(input: ChartLookInput): TemplateResult {
  const { chart, open, onOpen, states } = input;
  const great = chart.states.filter(({ id }) => id !== '' && !id.includes('.'));
  const hasInside = great.some(({ first }) => first.length > 0);
  const light = states && lightOf(chart, states);
  const overview = html`<div class="great-states">
    ${great.map((state) => greatState(state, input, light))}
  </div>`;
  const isOpen = open !== '' || !hasInside;
  return html`<section class="chart-look" aria-label="Chart">
    <div class="zooms">
      <h2>Chart</h2>
      ${
        hasInside
          ? html`<button
              type="button"
              aria-pressed=${open === 'whole' ? 'true' : 'false'}
              @click=${() => onOpen(open === 'whole' ? '' : 'whole')}
            >
              Whole chart
            </button>`
          : nothing
      }
      ${isOpen ? input.camera.buttons() : nothing}
    </div>
    ${hasInside ? overview : nothing} ${isOpen ? drawing(input) : nothing}
    ${chartLegend(states !== undefined)}
  </section>`;
}

function greatState(state: DrawnState, input: ChartLookInput, light: Light | undefined): TemplateResult {
  const { chart, states = [], open, onOpen, counts } = input;
  const { id, says, about } = state;
  const inside = chart.states.filter((one) => one.id.slice(0, one.id.lastIndexOf('.')) === id);
  // In a parallel state the actor is in several states.
  const here = states.filter((one) => one === id || one.startsWith(`${id}.`));
  const now = chart.states.flatMap((one) => (here.includes(one.id) ? (one.says ?? []) : []));
  return html`<div class="great ${lightKind(id, light)}" data-great=${id}>
    <button
      type="button"
      aria-expanded=${open === id ? 'true' : 'false'}
      @click=${() => onOpen(open === id ? '' : id)}
    >
      ${state.title}
    </button>
    ${here.length === 0 ? nothing : html`<span class="here">${chart.name === 'pod' ? 'here now' : 'now'}</span>`}
    <p>${now.length === 0 ? (about ?? says ?? '') : now.join('; ')}</p>
    <ul>
      ${inside.map((one) => innerState(one, light, here, counts))}
    </ul>
  </div>`;
}

/** Names the inner state of the actor too. */
function innerState(
  { id, title, says, about }: DrawnState,
  light: Light | undefined,
  here: readonly string[],
  counts: ChartInput['counts'],
): TemplateResult {
  const inner = here.find((one) => one.startsWith(`${id}.`));
  const further = inner?.slice(id.length).replaceAll('.', ' › ') ?? '';
  const isIn = ([state]: readonly [string, number]) => state === id || state.startsWith(`${id}.`);
  const count = [...(counts ?? [])].filter(isIn).reduce((sum, [, more]) => sum + more, 0);
  return html`<li class=${lightKind(id, light)} title=${[id, says ?? about].filter(Boolean).join(': ')}>
    ${title}${further}${count === 0 ? nothing : html` <b>${count}</b>`}
  </li>`;
}

function chartLegend(isLit: boolean): TemplateResult | typeof nothing {
  if (!isLit) return nothing;
  return html`<ul class="legend" aria-label="What is lit">
    <li><i class="swatch here"></i>where it is</li>
    <li><i class="swatch next"></i>where the next transition can lead</li>
    <li><i class="swatch fresh"></i>the latest transition</li>
  </ul>`;
}

/** The part that is open, in a box where it can be made larger. */
function drawing(input: ChartLookInput): TemplateResult {
  const { chart, states, camera, open } = input;
  const part = chart.states.find(({ id }) => id === open);
  const whole =
    part === undefined ? { x: 0, y: 0, width: chart.width, height: chart.height } : withEdge(part, chart);
  const focus = chart.states.find(({ id }) => id === states?.[0]);
  const room = {
    // Before it has been laid out it is 0.
    width:
      Math.max(document.querySelector('.chart-look')?.clientWidth ?? innerWidth, ROOM_MIN_PX) - BORDER_PX,
    height: Math.max(ROOM_MIN_PX, innerHeight - ROOM_BESIDE_PX),
  };
  const box = boxFor(whole, room);
  const rect = camera.look(`${chart.name} ${open} ${location.hash.split('?')[0]}`, whole, focus, box);
  return html`<div
    class="chart box"
    tabindex="0"
    role="region"
    aria-label=${titleOf(input)}
    @wheel=${camera.wheel}
    @keydown=${camera.key}
    @pointerdown=${camera.fingerDown}
    @pointermove=${camera.drag}
    @pointerup=${camera.fingerUp}
    @pointercancel=${camera.fingerUp}
  >
    ${picture(input, rect, box)}
  </div>`;
}

function withEdge({ x, y, width, height }: Rect, chart: DrawnChart): Rect {
  const [left, top] = [Math.max(0, x - EDGE_PX), Math.max(0, y - EDGE_PX)];
  return {
    x: left,
    y: top,
    width: Math.min(chart.width, x + width + EDGE_PX) - left,
    height: Math.min(chart.height, y + height + EDGE_PX) - top,
  };
}

const titleOf = ({ chart, states }: ChartInput): string =>
  `The chart ${chart.name}${states === undefined ? '' : `, in ${states.join(' and ')}`}`;

/** All of it, as large as it is drawn. */
export function chartView(input: ChartInput): TemplateResult {
  const { width, height } = input.chart;
  return html`<div class="chart" tabindex="0" role="region" aria-label=${titleOf(input)}>
    ${picture(input, { x: 0, y: 0, width, height }, { width, height })}
  </div>`;
}

function picture(input: ChartInput, { x, y, width, height }: Rect, box: Box): TemplateResult {
  const { chart, states, transitions, nowMs, counts } = input;
  const light = states && lightOf(chart, states);
  const fresh = transitions.filter(({ atMs, chart: of }) => of === chart.name && nowMs - atMs < LIT_MS);
  const lit = new Set(fresh.flatMap((transition) => linesOf(chart, transition)));
  return html`<svg
    viewBox="${x} ${y} ${width} ${height}"
    width=${box.width}
    height=${box.height}
    role="img"
    aria-label=${titleOf(input)}
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
    ${chart.anys.map(anyShape)}
    ${chart.dots.map((dot) => svg`<circle class="dot" cx=${dot.x} cy=${dot.y} r=${dot.radius} />`)}
    ${chart.edges.map((edge) => {
      const isOpen = light !== undefined && (edge.from === '' || light.active.has(edge.from));
      const kind = lit.has(edge) ? 'lit' : isOpen || light === undefined ? 'open' : 'pale';
      return svg`<g class="edge ${kind}">
        <path d=${edge.path} marker-end="url(#tip)" />
        ${edge.labels.map((label) => svg`<text x=${label.x} y=${label.y}>${label.text}</text>`)}
      </g>`;
    })}
  </svg>`;
}

/** A transition from here starts in whichever inner state the actor is. */
function anyShape({ x, y, width, height }: Rect): SVGTemplateResult {
  return svg`<g class="any">
    <rect x=${x} y=${y} width=${width} height=${height} rx=${height / 2} />
    <text x=${x + width / 2} y=${y + height / 2 + 4} text-anchor="middle">any state</text>
  </g>`;
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

/** The newest first. Transitions from before the page was opened are known if the flight recorder is on. */
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
    <time>${exactTime(atMs)}</time>
    <b>${withoutPath(event)}</b> ${guard === undefined ? nothing : html`<i>[${guard}]</i>`}
    <span class="way">${chart}: ${changedParts(from, to)}</span>
    ${actions.length === 0 ? nothing : html`<span class="actions">${actions.join(', ')}</span>`}
  </li>`;
}
