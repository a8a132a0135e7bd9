/** The time axis: lanes one below the other, over the same time. Its right edge is now. */
import { html, nothing, type TemplateResult } from 'lit-html';
import type { Lane, Mark, Span } from './lanes.ts';
import { timeLegend } from './health-view.ts';
import { clockTime, duration } from './page-times.ts';

const MINUTE_MS = 60_000;
/** How much of the past is shown; `all`: all that is known. */
export const ZOOMS = {
  '1m': MINUTE_MS,
  '10m': 10 * MINUTE_MS,
  '1h': 60 * MINUTE_MS,
  all: undefined,
} as const;
export type Zoom = keyof typeof ZOOMS;

export const ZOOM_ORDER = Object.keys(ZOOMS) as readonly Zoom[];

/** Ten minutes by default. */
export function zoomOf(text: string | null): Zoom {
  return ZOOM_ORDER.find((one) => one === text) ?? '10m';
}

const LABELS: Readonly<Record<Zoom, string>> = { '1m': '1 min', '10m': '10 min', '1h': '1 h', all: 'all' };
const SHOWN_MIN_MS = 10_000;
/** Marks that are closer than this share of the axis are one mark. */
const CLOSE = 0.004;
const SAID_MAX = 8;
const STEPS_S = [1, 2, 5, 10, 30].concat([60, 120, 300, 600, 1800, 3600, 7200, 21_600, 43_200, 86_400]);
const TICKS_MAX = 6;
/** A time further to the right would be cut off on a phone: it is on the left of its line. */
const LATE_SHARE = 85;
/** A shorter span has no room for a word. */
const SAID_SHARE = 4;

export interface AxisInput {
  readonly lanes: readonly Lane[];
  readonly zoom: Zoom;
  readonly nowMs: number;
  /** Otherwise the axis ends with the last known event. */
  readonly isLive: boolean;
  readonly onZoom: (zoom: Zoom) => void;
}

interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}

export function axisView({ lanes, zoom, nowMs, isLive, onZoom }: AxisInput): TemplateResult {
  const window = windowOf(lanes, zoom, isLive ? nowMs : (latest(lanes) ?? nowMs));
  return html`<section class="axis" aria-label="Time axis">
    <div class="zooms" role="group" aria-label="How much of the past is shown">
      <h2>Time axis</h2>
      ${ZOOM_ORDER.map(
        (one) =>
          html`<button
            type="button"
            aria-pressed=${one === zoom ? 'true' : 'false'}
            @click=${() => onZoom(one)}
          >
            ${LABELS[one]}
          </button>`,
      )}
    </div>
    ${lanes.map((lane) => laneView(lane, window))}
    <div class="lane" aria-hidden="true">
      <span></span>
      <div class="ticks">${ticks(window).map((atMs) => tick(atMs, share(atMs, window)))}</div>
    </div>
    ${timeLegend()}
  </section>`;
}

/** The time that is shown: no more of the past than is known. */
export function windowOf(lanes: readonly Lane[], zoom: Zoom, toMs: number): Window {
  const moments = lanes.flatMap(({ spans, marks }) => [
    ...spans.map((span) => span.fromMs),
    ...marks.map((mark) => mark.atMs),
  ]);
  const firstMs = moments.reduce((first, atMs) => Math.min(first, atMs), toMs - SHOWN_MIN_MS);
  return { fromMs: Math.max(firstMs, toMs - (ZOOMS[zoom] ?? Infinity)), toMs };
}

function latest(lanes: readonly Lane[]): number | undefined {
  const moments = lanes.flatMap(({ spans, marks }) => [
    ...spans.map(({ fromMs, toMs }) => toMs ?? fromMs),
    ...marks.map(({ atMs }) => atMs),
  ]);
  return moments.length === 0 ? undefined : moments.reduce((last, atMs) => Math.max(last, atMs)) + 1_000;
}

/** Round times, at most as many as have room. */
export function ticks({ fromMs, toMs }: Window): readonly number[] {
  const most = toMs - fromMs;
  const step =
    (STEPS_S.find((seconds) => most / (seconds * 1_000) <= TICKS_MAX) ?? Math.ceil(most / 6_000)) * 1_000;
  // Round in the time zone of the browser.
  const shiftMs = new Date(toMs).getTimezoneOffset() * MINUTE_MS;
  const first = Math.ceil((fromMs - shiftMs) / step) * step + shiftMs;
  return Array.from(
    { length: Math.max(0, Math.floor((toMs - first) / step) + 1) },
    (_, index) => first + index * step,
  );
}

function tick(atMs: number, left: number): TemplateResult {
  return html`<time class=${left > LATE_SHARE ? 'late' : ''} .style=${`left:${left}%`}
    >${clockTime(atMs)}</time
  >`;
}

function laneView({ name, spans, marks, level }: Lane, window: Window): TemplateResult {
  const inside = spans.filter(
    ({ fromMs, toMs }) => fromMs < window.toMs && (toMs ?? window.toMs) > window.fromMs,
  );
  const seen = level === undefined ? inside : lowest(inside, (window.toMs - window.fromMs) * CLOSE);
  const shown = together(
    marks.filter(({ atMs }) => atMs >= window.fromMs && atMs <= window.toMs),
    (window.toMs - window.fromMs) * CLOSE,
  );
  return html`<div class="lane ${level === undefined ? '' : 'level'}">
    <span class="lane-name" title=${name}
      >${name}${level === undefined ? nothing : html`<small>${level.now}</small>`}</span
    >
    <div class="track" role="img" aria-label=${`${name}: ${words(seen, shown, window)}`}>
      ${seen.map((span) => spanView(span, window))}
      ${level?.limits.map(
        ({ kind, at, text }) =>
          html`<i
            class="limit ${kind}"
            title=${text}
            .style=${`bottom:${Math.round(at * 1_000) / 10}%`}
          ></i>`,
      )}
      ${shown.map(
        ({ atMs, kind, text }) =>
          html`<i
            class="mark ${kind}"
            title=${`${clockTime(atMs)} ${text}`}
            .style=${`left:${share(atMs, window)}%`}
          ></i>`,
      )}
    </div>
  </div>`;
}

function spanView({ fromMs, toMs, kind, text, level }: Span, window: Window): TemplateResult {
  const left = share(Math.max(fromMs, window.fromMs), window);
  const width = share(toMs ?? window.toMs, window) - left;
  const title = `${text}, ${clockTime(fromMs)} ${toMs === undefined ? 'until now' : `to ${clockTime(toMs)}`} (${duration((toMs ?? window.toMs) - fromMs)})`;
  const place = `left:${left}%;width:${Math.min(width, 100 - left)}%`;
  if (level !== undefined) {
    const height = Math.round(level * 1_000) / 10;
    return html`<span class="height ${kind}" title=${title} .style=${`${place};height:${height}%`}></span>`;
  }
  return html`<span class="span ${kind}" title=${title} .style=${place}
    >${width < SAID_SHARE ? nothing : text}</span
  >`;
}

/** Levels that lie too close to each other to be seen are one: the lowest. */
export function lowest(spans: readonly Span[], closeMs: number): readonly Span[] {
  const kept: Span[] = [];
  for (const span of spans) {
    const last = kept.at(-1);
    if (last === undefined || span.fromMs - last.fromMs >= closeMs) kept.push(span);
    else {
      const least = (span.level ?? 0) < (last.level ?? 0) ? span : last;
      kept[kept.length - 1] = { ...least, fromMs: last.fromMs, toMs: span.toMs };
    }
  }
  return kept;
}

/** Marks too close to be seen apart become one, whose text has all of them. */
export function together(marks: readonly Mark[], closeMs: number): readonly Mark[] {
  const groups: Mark[][] = [];
  for (const mark of marks) {
    const group = groups.at(-1);
    if (group?.[0] !== undefined && mark.atMs - group[0].atMs < closeMs) group.push(mark);
    else groups.push([mark]);
  }
  return groups.map((group) => {
    const said = group.slice(0, SAID_MAX).map(({ text }) => text);
    const rest = group.length - said.length;
    return {
      atMs: group[0]?.atMs ?? 0,
      kind: group.find(({ kind }) => kind !== '')?.kind ?? '',
      text: [...said, ...(rest > 0 ? [`and ${rest} more`] : [])].join('\n'),
    };
  });
}

/** The latest of it in words, for screen readers. */
function words(spans: readonly Span[], marks: readonly Mark[], { toMs: nowMs }: Window): string {
  const said = [
    ...spans.map(({ text, fromMs, toMs }) => `${text} for ${duration((toMs ?? nowMs) - fromMs)}`),
    ...marks.map(({ text, atMs }) => `${clockTime(atMs)} ${text}`),
  ];
  return said.length === 0 ? 'nothing in this time' : said.slice(-SAID_MAX).join(', ');
}

/** In percent, with two digits: with more, the text would change each second. */
function share(atMs: number, { fromMs, toMs }: Window): number {
  return Math.round(((atMs - fromMs) / (toMs - fromMs)) * 10_000) / 100;
}
