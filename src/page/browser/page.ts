/** The page: which view is shown, and what the keys do. */
import { html, nothing, render, type TemplateResult } from 'lit-html';
import type { DrawnChart } from '../../types/page-views.ts';
import { chartView, transitionList } from './chart-view.ts';
import { axisView, type Zoom, ZOOM_ORDER, zoomOf } from './axis-view.ts';
import { actorLanes } from './lanes.ts';
import { News } from './news.ts';
import { nodeView } from './node-view.ts';
import { hashOf, type Place, placeOf, placeWith } from './page-times.ts';
import { choiceOf, queryOf, stateCounts } from './pod-list.ts';
import { PodTable } from './pods-view.ts';
import { podPage } from './pod-view.ts';

const SECOND_MS = 1_000;

let charts: readonly DrawnChart[] = [];
let isAwaitingFrame = false;
let helpIsOpen = false;

const news = new News(update);
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
    showActiveState();
  });
}

let shownState = '';

/** A large chart is scrolled to the state that its actor has come to. */
function showActiveState(): void {
  const frame = document.querySelector('.chart');
  const state = frame?.querySelector('.leaf.active');
  const name = `${location.hash} ${state?.getAttribute('data-state') ?? ''}`;
  if (frame == null || state == null || name === shownState) return;
  shownState = name;
  const [outer, inner] = [frame.getBoundingClientRect(), state.getBoundingClientRect()];
  frame.scrollTop += inner.top - outer.top - (outer.height - inner.height) / 2;
}

/** The list of pods, as it was chosen last. */
let listHash = '#/';

/** Shows another place. What is typed is no step to go back to. */
function goTo(place: Place, isStep = true): void {
  const hash = hashOf(place);
  if (isStep) history.pushState(undefined, '', hash);
  else history.replaceState(undefined, '', hash);
  follow();
}

function follow(): void {
  const place = placeOf(location.hash);
  const { parts, query } = place;
  if (parts.length === 0) {
    table.show(choiceOf(query));
    listHash = hashOf(place);
  }
  const isOne = (parts[0] === 'pod' && parts.length === 3) || (parts[0] === 'chart' && parts.length === 2);
  if (news.lookAt(isOne ? parts.map(encodeURIComponent).join('/') : undefined)) scrollTo(0, 0);
  document.title = ['Statelet', ...parts.slice(1)].join(' · ');
  update();
}

function view(): TemplateResult {
  const place = placeOf(location.hash);
  const [what = 'pods'] = place.parts;
  return html`
    <header>
      <a class="brand" href=${listHash}>Statelet</a>
      <span class="where">${news.node?.name ?? ''}</span>
      <nav aria-label="Views">
        <a href=${listHash} aria-current=${what === 'pods' || what === 'pod' ? 'page' : nothing}>Pods</a>
        <a href="#/charts" aria-current=${what.startsWith('chart') ? 'page' : nothing}>Charts</a>
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
  if (what === 'pod') {
    const chart = charts.find(({ name }) => name === 'pod');
    return podPage({ name: `${first}/${second}`, sight: news.sight, chart, nowMs, ...zoomAt(place) });
  }
  if (what === 'charts') return chartList();
  if (what === 'chart') return chartPage(first, place);
  const { rows, version, node } = news;
  return html`<h1 class="unseen">Pods of this node</h1>
    ${node === undefined ? nothing : nodeView(node)} ${table.view({ rows, version, nowMs })}`;
}

function zoomAt(place: Place): { readonly zoom: Zoom; readonly onZoom: (zoom: Zoom) => void } {
  const onZoom = (chosen: Zoom) => goTo(placeWith(place, 'zoom', chosen));
  return { zoom: zoomOf(place.query.get('zoom')), onZoom };
}

function chartList(): TemplateResult {
  return html`<h1>Charts</h1>
    <ul class="cards">
      ${charts.map(
        ({ name, about }) =>
          html`<li>
            <a href="#/chart/${name}">${name}</a>
            <p>${about}</p>
          </li>`,
      )}
    </ul>`;
}

function chartPage(name: string, place: Place): TemplateResult {
  const chart = charts.find((one) => one.name === name);
  if (chart === undefined)
    return html`<h1>${name}</h1>
      <p>There is no such chart.</p>`;
  const { actors, transitions, lost } = news.sight;
  const actor = actors.find((one) => one.actor === place.query.get('actor')) ?? actors[0];
  const own = transitions.filter((one) => actor === undefined || one.actor === actor.actor);
  // Of the chart of pods all actors are shown at once.
  const lanes = actor === undefined ? [] : actorLanes(own.toReversed());
  const counts = name === 'pod' ? new Map(stateCounts(news.rows.values())) : undefined;
  const drawn = {
    chart,
    states: actor?.states,
    transitions: own,
    nowMs: news.now(),
    ...(counts && { counts }),
  };
  return html`<h1>${name}</h1>
    <p>${chart.about}</p>
    ${
      actors.length < 2
        ? nothing
        : html`<label
            >Actor
            <select
              @change=${({ target }: Event) => goTo(placeWith(place, 'actor', (target as HTMLSelectElement).value))}
            >
              ${actors.map(
                (one) => html`<option value=${one.actor} .selected=${one === actor}>${one.actor}</option>`,
              )}
            </select></label
          >`
    }
    ${lanes.length === 0 ? nothing : axisView({ lanes, nowMs: news.now(), isLive: true, ...zoomAt(place) })}
    <div class="beside">
      ${chartView(drawn)}
      <div>
        ${actor === undefined ? nothing : html`<h2>${actor.actor}</h2>`}
        <ul>
          ${(actor?.states ?? []).map(
            (state) => html`<li><b>${state}</b>: ${chart.states.find(({ id }) => id === state)?.says}</li>`,
          )}
        </ul>
        <h2>Transitions</h2>
        ${transitionList(own, lost)}
      </div>
    </div>`;
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
      <dd>less or more of the time axis</dd>
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
  if (place.parts.length < 2) return;
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
