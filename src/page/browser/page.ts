/** The page: which view is shown, and what the keys do. */
import { html, nothing, render, type TemplateResult } from 'lit-html';
import type { DrawnChart } from '../../types/page-views.ts';
import { type Zoom, ZOOM_ORDER, zoomOf } from './axis-view.ts';
import { Camera } from './chart-camera.ts';
import { chartList, chartPage } from './charts-view.ts';
import { News } from './news.ts';
import { goneList, nodePage, nodeView } from './node-view.ts';
import { hashOf, type Place, placeOf, placeWith } from './page-times.ts';
import { choiceOf, queryOf, stateCounts } from './pod-list.ts';
import { PodTable } from './pods-view.ts';
import { podPage } from './pod-view.ts';

const SECOND_MS = 1_000;

let charts: readonly DrawnChart[] = [];
let isAwaitingFrame = false;
let helpIsOpen = false;

const news = new News(update);
const camera = new Camera(update);
const table = new PodTable({
  onChange: update,
  onChoose: (choice) => goTo({ parts: [], query: queryOf(choice) }, choice.search === table.choice.search),
});

/** The next frame shows everything that has changed until then. */
function update(): void {
  if (isAwaitingFrame) return;
  isAwaitingFrame = true;
  requestAnimationFrame(() => {
    isAwaitingFrame = false;
    render(view(), document.body);
    table.measure();
    // A chart is drawn to fit its place, whose size is known once it is in the document.
    const width = document.querySelector('.chart-look')?.clientWidth ?? 0;
    if (width !== chartWidth) update();
    chartWidth = width;
  });
}

let chartWidth = 0;

/** The list of pods, as it was chosen last. */
let listHash = '#/';

/** Shows another place. Typing in the search adds no step to the browser's history. */
function goTo(place: Place, isStep = true): void {
  const hash = hashOf(place);
  if (isStep) history.pushState(undefined, '', hash);
  else history.replaceState(undefined, '', hash);
  follow();
}

function follow(): void {
  const place = placeOf(location.hash);
  const { parts } = place;
  if (parts.length === 0) {
    table.show(choiceOf(place.query));
    listHash = hashOf(place);
  }
  if (news.lookAt(streamOf(place))) scrollTo(0, 0);
  document.title = ['Statelet', ...parts.slice(1)].join(' · ');
  update();
}

/** The stream that the place needs, beside that of the pods and the node. */
function streamOf({ parts, query }: Place): string | undefined {
  const [what, ...names] = parts;
  if (what === undefined) return choiceOf(query).show === 'gone' ? 'gone' : undefined;
  const counts: Readonly<Record<string, number>> = { pod: 2, chart: 1, node: 0, charts: 0 };
  return counts[what] === names.length ? parts.map(encodeURIComponent).join('/') : undefined;
}

const VIEWS = [
  ['Pods', '', /^pods?$/u],
  ['Node', '#/node', /^node$/u],
  ['Charts', '#/charts', /^charts?$/u],
] as const;

function view(): TemplateResult {
  const place = placeOf(location.hash);
  const [what = 'pods'] = place.parts;
  return html`
    <header>
      <a class="brand" href=${listHash}>Statelet</a>
      <span class="where">${news.node?.name ?? ''}</span>
      <nav aria-label="Views">
        ${VIEWS.map(
          ([title, hash, of]) =>
            html`<a href=${hash || listHash} aria-current=${of.test(what) ? 'page' : nothing}>${title}</a>`,
        )}
        <button type="button" @click=${toggleHelp} aria-expanded=${helpIsOpen ? 'true' : 'false'}>
          Keys (?)
        </button>
      </nav>
    </header>
    <main>
      ${news.isConnected ? nothing : html`<p class="banner" role="alert">The agent does not answer. Trying again …</p>`}
      ${helpIsOpen ? help() : nothing} ${mainView(place)}
    </main>
  `;
}

function mainView(place: Place): TemplateResult {
  const [what, first = '', second = ''] = place.parts;
  const nowMs = news.now();
  const { sight, node, rows, version } = news;
  if (what === 'pod') {
    const chart = charts.find(({ name }) => name === 'pod');
    return podPage({
      name: `${first}/${second}`,
      sight,
      chart,
      nowMs,
      ...zoomAt(place),
      ...openAt(place, ''),
    });
  }
  if (what === 'node') return nodePage({ node, sight, nowMs, ...zoomAt(place) });
  if (what === 'charts') return chartList(charts, sight.charts);
  if (what === 'chart') return chartView(first, place);
  const gone = goneList(sight.gone, table.choice.search, nowMs);
  return html`<h1 class="unseen">Pods of this node</h1>
    ${node === undefined ? nothing : nodeView(node)} ${table.view({ rows, version, nowMs, gone })}`;
}

function chartView(name: string, place: Place): TemplateResult {
  const chart = charts.find((one) => one.name === name);
  if (chart === undefined)
    return html`<h1>${name}</h1>
      <p>There is no such chart.</p>`;
  return chartPage({
    chart,
    sight: news.sight,
    nowMs: news.now(),
    counts: name === 'pod' ? stateCounts(news.rows.values()) : undefined,
    actor: place.query.get('actor'),
    onActor: (actor) => goTo(placeWith(place, 'actor', actor)),
    ...zoomAt(place),
    ...openAt(place, 'whole'),
  });
}

function zoomAt(place: Place): { readonly zoom: Zoom; readonly onZoom: (zoom: Zoom) => void } {
  const onZoom = (chosen: Zoom) => goTo(placeWith(place, 'zoom', chosen));
  return { zoom: zoomOf(place.query.get('zoom')), onZoom };
}

/** Which part of the chart is drawn. `usual`: where the address says nothing. */
function openAt(
  place: Place,
  usual: string,
): { readonly camera: Camera; readonly open: string; readonly onOpen: (open: string) => void } {
  const chosen = place.query.get('open') ?? usual;
  return {
    camera,
    open: chosen === 'none' ? '' : chosen,
    onOpen: (open) => goTo(placeWith(place, 'open', open === usual ? '' : open || 'none')),
  };
}

function help(): TemplateResult {
  return html`<section class="help" aria-label="Keys">
    <dl>
      <dt>/</dt>
      <dd>search</dd>
      <dt>j, ↓</dt>
      <dd>next pod</dd>
      <dt>k, ↑</dt>
      <dd>previous pod</dd>
      <dt>Enter</dt>
      <dd>open the pod</dd>
      <dt>Escape</dt>
      <dd>back to the pods</dd>
      <dt>+, -</dt>
      <dd>less or more of the time axis; in a chart: larger, smaller</dd>
      <dt>arrows, 0</dt>
      <dd>in a chart: move it, fit all of it</dd>
      <dt>n</dt>
      <dd>the node</dd>
      <dt>c</dt>
      <dd>charts</dd>
      <dt>?</dt>
      <dd>this list</dd>
    </dl>
  </section>`;
}

function toggleHelp(): void {
  helpIsOpen = !helpIsOpen;
  update();
}

function search(): HTMLInputElement | null {
  return document.querySelector('#search');
}

function zoom(steps: number): void {
  const place = placeOf(location.hash);
  if (place.parts.length === 0) return;
  const now = zoomOf(place.query.get('zoom'));
  const next = ZOOM_ORDER[ZOOM_ORDER.indexOf(now) + steps];
  if (next !== undefined) goTo(placeWith(place, 'zoom', next));
}

const KEYS: Readonly<Record<string, () => void>> = {
  '/': () => search()?.focus(),
  j: () => table.move(1),
  ArrowDown: () => table.move(1),
  k: () => table.move(-1),
  ArrowUp: () => table.move(-1),
  c: () => (location.hash = '#/charts'),
  n: () => (location.hash = '#/node'),
  '?': toggleHelp,
  '+': () => zoom(-1),
  '-': () => zoom(1),
};

function pressed(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { target, key } = event;
  const inSearch = target === search();
  const isOnControl = target instanceof Element && target.closest('a, button, select, .chart') !== null;
  if (key === 'Escape') {
    if (inSearch && table.choice.search !== '') table.choose({ search: '' });
    else if (inSearch) search()?.blur();
    else location.hash = listHash;
    return;
  }
  if (key === 'Enter' && !isOnControl) {
    const link = search() === null ? undefined : table.selectedLink;
    if (link !== undefined) location.hash = link;
    return;
  }
  const isArrow = key.startsWith('Arrow');
  if ((inSearch && !isArrow) || (isArrow && isOnControl)) return;
  const act = KEYS[key];
  if (act === undefined || (isArrow && search() === null)) return;
  event.preventDefault();
  act();
}

addEventListener('popstate', follow);
addEventListener('hashchange', follow);
addEventListener('keydown', pressed);
setInterval(update, SECOND_MS);
follow();
charts = (await (await fetch('/charts.json')).json()) as readonly DrawnChart[];
update();
