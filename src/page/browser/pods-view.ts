/** The table of pods. Only the rows in sight are in the document. Rows with long sentences are higher. */
import { html, nothing, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import type { PodRow } from '../../types/page-views.ts';
import { badge } from './health-view.ts';
import { duration } from './page-times.ts';
import {
  ALL_PODS,
  type Choice,
  type Column,
  isSame,
  podLink,
  type Seen,
  seenPods,
  type SeenPods,
  SHOWN,
  type Shown,
} from './pod-list.ts';

/** The assumed height of a row that has not been in sight yet. */
const ROW_PX = 37;
/** Beyond the edges, so that scrolling shows no gaps. */
const MARGIN_PX = 400;
/** A column is so wide that this share of its texts has one line, within these bounds in letters. */
const ONE_LINE = 0.95;
const NAME_CH = [12, 44] as const;
/** `Init:CreateContainerConfigError` fits. */
const STATUS_CH = [8, 31] as const;

export interface TableOptions {
  readonly onChange: () => void;
  /** Makes the choice part of the address, which shows it. */
  readonly onChoose: (choice: Choice) => void;
}

export interface TableInput {
  readonly rows: ReadonlyMap<string, PodRow>;
  /** It differs when the rows have changed. */
  readonly version: number;
  readonly nowMs: number;
  /** Instead of the table: the pods that have gone. */
  readonly gone: TemplateResult;
}

export class PodTable {
  #choice: Choice = ALL_PODS;
  /** The row that the keys have selected. */
  selected = 0;
  #seen: SeenPods | undefined;
  #seenFor: readonly unknown[] = [];
  /** The last known heights, by UID. */
  readonly #heights = new Map<string, number>();
  /** Rows whose heights are known as they are now. */
  #measured = new WeakSet<PodRow>();
  #shown: readonly Seen[] = [];
  #width = 0;
  #nameCh = 0;
  #statusCh = 0;
  readonly #options: TableOptions;

  constructor(options: TableOptions) {
    this.#options = options;
    addEventListener('scroll', () => options.onChange(), { passive: true });
    addEventListener('resize', () => options.onChange());
  }

  get choice(): Choice {
    return this.#choice;
  }

  /** The choice in the address. */
  show(choice: Choice): void {
    if (isSame(choice, this.#choice)) return;
    this.#choice = choice;
    this.selected = 0;
  }

  choose(change: Partial<Choice>): void {
    this.#options.onChoose({ ...this.#choice, ...change });
  }

  /** The link to the pod that the keys have selected. */
  get selectedLink(): string | undefined {
    const seen = this.#seen?.chosen[this.selected];
    return seen && podLink(seen.row);
  }

  move(steps: number): void {
    const { chosen = [] } = this.#seen ?? {};
    this.selected = Math.max(0, Math.min(chosen.length - 1, this.selected + steps));
    const body = document.querySelector('.pods tbody');
    if (body !== null) {
      const before = chosen.slice(0, this.selected).reduce((sum, seen) => sum + this.#heightOf(seen), 0);
      const top = body.getBoundingClientRect().top + before;
      const bottom = top + ROW_PX * 2;
      const edge = document.querySelector('.pods thead')?.clientHeight ?? 0;
      if (top < edge) scrollBy(0, top - edge);
      else if (bottom > innerHeight) scrollBy(0, bottom - innerHeight);
    }
    this.#options.onChange();
  }

  view({ rows, version, nowMs, gone }: TableInput): TemplateResult {
    const seen = this.#look(rows, version, nowMs);
    const { chosen } = seen;
    if (this.#choice.show === 'gone')
      return html`${this.#filters(seen, 'Pods that have gone, as far as they are known')} ${gone}`;
    const { from, to, above, below } = this.#inSight(chosen);
    this.#shown = chosen.slice(from, to);
    const title = `${chosen.length} of ${rows.size} pods`;
    return html`
      ${this.#filters(seen, title)}
      <table
        class="pods"
        role="table"
        aria-label="Pods"
        aria-rowcount=${chosen.length + 1}
        .style=${`--name:${this.#nameCh}ch;--status:${this.#statusCh}ch`}
      >
        <thead role="rowgroup">
          <tr role="row" aria-rowindex="1">
            ${this.#heading('need', 'Status')} ${this.#heading('name', 'Pod')}
            <th role="columnheader" scope="col" class="ready">Ready</th>
            ${this.#heading('restarts', 'Restarts')} ${this.#heading('since', 'For')}
            <th role="columnheader" scope="col" class="says">What it does</th>
            ${this.#heading('state', 'State of its chart')}
          </tr>
        </thead>
        <tbody role="rowgroup">
          ${gap(above)}
          ${repeat(
            this.#shown,
            ({ row }) => row.uid,
            (one, index) => this.#row(one, from + index, nowMs),
          )}
          ${gap(below)}
        </tbody>
      </table>
      ${chosen.length === 0 ? html`<p class="none">No pod fits.</p>` : nothing}
    `;
  }

  #look(rows: ReadonlyMap<string, PodRow>, version: number, nowMs: number): SeenPods {
    const [ofVersion, ofChoice] = this.#seenFor;
    if (
      this.#seen !== undefined &&
      nowMs < this.#seen.untilMs &&
      ofVersion === version &&
      ofChoice === this.#choice
    )
      return this.#seen;
    this.#seen = seenPods(rows.values(), this.#choice, nowMs);
    this.#seenFor = [version, this.#choice];
    const { chosen } = this.#seen;
    this.#nameCh = widthOf(
      chosen.map(({ row }) => row.namespace.length + row.name.length + 1),
      NAME_CH,
    );
    this.#statusCh = widthOf(
      chosen.map(({ row }) => row.status.length),
      STATUS_CH,
    );
    return this.#seen;
  }

  #heightOf({ row }: Seen): number {
    return this.#heights.get(row.uid) ?? ROW_PX;
  }

  /** Which rows are in the window, and how high those above and below are together. */
  #inSight(chosen: readonly Seen[]): { from: number; to: number; above: number; below: number } {
    const top = document.querySelector('.pods tbody')?.getBoundingClientRect().top ?? 0;
    const [first, last] = [-top - MARGIN_PX, innerHeight - top + MARGIN_PX];
    let [from, to, above, height] = [chosen.length, chosen.length, 0, 0];
    for (const [index, seen] of chosen.entries()) {
      if (from === chosen.length && height + this.#heightOf(seen) >= first) [from, above] = [index, height];
      if (to === chosen.length && height > last) to = index;
      height += this.#heightOf(seen);
    }
    if (from >= chosen.length) [from, above] = [0, 0];
    const shown = chosen.slice(from, to).reduce((sum, seen) => sum + this.#heightOf(seen), 0);
    return { from, to, above, below: Math.max(0, height - above - shown) };
  }

  /** Called when the rows are in the document. If their heights are not the assumed ones, the table is rendered again. */
  measure(): void {
    const table = document.querySelector('table.pods');
    if (table === null) return;
    const width = table.clientWidth;
    if (width !== this.#width) this.#measured = new WeakSet();
    this.#width = width;
    const unknown = this.#shown.filter(({ row }) => !this.#measured.has(row));
    if (unknown.length === 0) return;
    const elements = new Map(
      Array.from(table.querySelectorAll<HTMLElement>('tr[data-uid]'), (one) => [one.dataset.uid, one]),
    );
    let isOther = false;
    for (const seen of unknown) {
      const height = elements.get(seen.row.uid)?.getBoundingClientRect().height;
      if (height === undefined) continue;
      this.#measured.add(seen.row);
      if (Math.abs(this.#heightOf(seen) - height) < 0.5) continue;
      this.#heights.set(seen.row.uid, height);
      isOther = true;
    }
    if (isOther) this.#options.onChange();
  }

  #filters({ counts }: SeenPods, title: string): TemplateResult {
    const { search, show } = this.#choice;
    return html`
      <div class="filters">
        <div class="choices" role="group" aria-label="Which pods">
          ${(Object.keys(SHOWN) as readonly Shown[]).map(
            (one) =>
              html`<button
                type="button"
                class=${one === 'gone' || one === 'all' || counts[one] === 0 ? '' : one}
                aria-pressed=${one === show ? 'true' : 'false'}
                @click=${() => this.choose({ show: one })}
              >
                ${SHOWN[one]} ${one === 'gone' ? nothing : html`<b>${counts[one]}</b>`}
              </button>`,
          )}
        </div>
        <input
          id="search"
          type="search"
          placeholder="Search pods (/)"
          aria-label="Search pods"
          .value=${search}
          @input=${({ target }: InputEvent) => this.choose({ search: (target as HTMLInputElement).value })}
        />
        <span class="shown" role="status">${title}</span>
      </div>
    `;
  }

  #heading(column: Column, title: string): TemplateResult {
    const { column: sorted, isDescending } = this.#choice;
    const isSorted = column === sorted;
    const order = isDescending ? 'descending' : 'ascending';
    return html`<th role="columnheader" scope="col" class=${column} aria-sort=${isSorted ? order : 'none'}>
      <button type="button" @click=${() => this.choose({ column, isDescending: isSorted && !isDescending })}>
        ${title}<span aria-hidden="true">${isSorted ? (isDescending ? ' ↓' : ' ↑') : ''}</span>
      </button>
    </th>`;
  }

  #row({ row, health }: Seen, index: number, nowMs: number): TemplateResult {
    const { uid, namespace, name, status, state, ready, containers, restarts } = row;
    const sinceMs = health.sinceMs ?? row.sinceMs;
    const isSelected = index === this.selected;
    return html`<tr
      role="row"
      data-uid=${uid}
      aria-rowindex=${index + 2}
      class=${isSelected ? 'selected' : ''}
    >
      <td role="cell" class="need">${badge(health.kind, status)}</td>
      <td role="cell" class="name">
        <a href=${podLink(row)} aria-current=${isSelected ? 'true' : nothing}
          ><span class="namespace">${namespace}/</span>${name}</a
        >
      </td>
      <td role="cell" class="ready"><span class="label">ready </span>${ready}/${containers}</td>
      <td role="cell" class="restarts"><span class="label">restarts </span>${restarts}</td>
      <td role="cell" class="since">
        <span class="label">for </span>${sinceMs === undefined ? '' : duration(nowMs - sinceMs)}
      </td>
      <td role="cell" class="says">${saysOf({ row, health }, nowMs)}</td>
      <td role="cell" class="state">${breakable(state)}</td>
    </tr>`;
  }
}

/** The whole sentence of `statelet why` with a countdown, and why the pod needs attention if the sentence does not say it. */
function saysOf({ row: { says, nextTryMs, state }, health }: Seen, nowMs: number): TemplateResult {
  const waitMs = nextTryMs === undefined || state === 'Syncing.Settled' ? 0 : nextTryMs - nowMs;
  const text = withWait(says.replace(/\.$/u, ''), waitMs);
  const { because } = health;
  const isSaid = because === undefined || says.includes(because);
  return html`${isSaid ? nothing : html`<b>${because}</b>: `}${text}`;
}

const NEXT_TRY = /next try at \S+Z/u;

/** The countdown replaces the time in the sentence, or else follows the sentence. */
function withWait(text: string, waitMs: number): string {
  if (waitMs <= 0) return text;
  const wait = `in ${duration(waitMs)}`;
  return NEXT_TRY.test(text) ? text.replace(NEXT_TRY, `$& (${wait})`) : `${text}; next try ${wait}`;
}

/** Allows a line break after each dot of `Syncing.Starting.Admitting`. */
function breakable(state: string): readonly TemplateResult[] {
  return state.split(/(?<=\.)/u).map((part) => html`${part}<wbr />`);
}

function widthOf(lengths: readonly number[], [least, most]: readonly [number, number]): number {
  const fits = lengths.toSorted((a, b) => a - b)[Math.ceil((lengths.length - 1) * ONE_LINE)] ?? 0;
  return Math.min(most, Math.max(least, fits));
}

function gap(px: number): TemplateResult | typeof nothing {
  if (px <= 0) return nothing;
  return html`<tr aria-hidden="true" class="gap">
    <td .style=${`height:${px}px`}></td>
  </tr>`;
}
