/** The table of pods. Of thousands only the rows in sight are in the document. */
import { html, nothing, type TemplateResult } from 'lit-html';
import type { PodRow } from '../../types/page-views.ts';
import { duration } from './page-times.ts';
import {
  ALL_PODS,
  AT_REST,
  type Choice,
  type Column,
  chosenRows,
  isSame,
  kindOf,
  podLink,
  stateCounts,
} from './pod-list.ts';

const ROW_PX = 34;
/** Rows beyond the edges, so that scrolling shows no gaps. */
const MARGIN = 10;
const STATES_SHOWN_MAX = 8;

export interface TableOptions {
  readonly onChange: () => void;
  /** Makes the choice part of the address, which shows it. */
  readonly onChoose: (choice: Choice) => void;
}

export interface TableInput {
  readonly rows: ReadonlyMap<string, PodRow>;
  /** Another one where the rows have changed. */
  readonly version: number;
  readonly nowMs: number;
}

export class PodTable {
  #choice: Choice = ALL_PODS;
  /** The row that the keys are at. */
  selected = 0;
  #chosen: PodRow[] = [];
  #chosenFor: unknown;
  #version = -1;
  #top = 0;
  #height = 800;
  readonly #options: TableOptions;

  constructor(options: TableOptions) {
    this.#options = options;
  }

  get choice(): Choice {
    return this.#choice;
  }

  /** What the address says. */
  show(choice: Choice): void {
    if (isSame(choice, this.#choice)) return;
    this.#choice = choice;
    this.selected = 0;
  }

  choose(change: Partial<Choice>): void {
    this.#options.onChoose({ ...this.#choice, ...change });
  }

  /** The link to the pod that the keys are at. */
  get selectedLink(): string | undefined {
    const row = this.#chosen[this.selected];
    return row && podLink(row);
  }

  move(steps: number): void {
    this.selected = Math.max(0, Math.min(this.#chosen.length - 1, this.selected + steps));
    const frame = document.querySelector('.pods');
    if (frame !== null) {
      const top = this.selected * ROW_PX;
      if (top < frame.scrollTop) frame.scrollTop = top;
      const bottom = top + 2 * ROW_PX;
      if (bottom > frame.scrollTop + frame.clientHeight) frame.scrollTop = bottom - frame.clientHeight;
    }
    this.#options.onChange();
  }

  view({ rows, version, nowMs }: TableInput): TemplateResult {
    if (version !== this.#version || this.#chosenFor !== this.#choice) {
      this.#chosen = chosenRows(rows.values(), this.#choice);
      [this.#version, this.#chosenFor] = [version, this.#choice];
    }
    const shown = this.#chosen;
    const from = Math.max(0, Math.floor(this.#top / ROW_PX) - MARGIN);
    const to = Math.min(shown.length, Math.ceil((this.#top + this.#height) / ROW_PX) + MARGIN);
    const slice = shown.slice(from, to);
    return html`
      ${this.#filters(rows)}
      <div class="pods" tabindex="0" role="region" aria-label="Pods" @scroll=${this.#scrolled}>
        <table aria-rowcount=${shown.length + 1}>
          <thead>
            <tr aria-rowindex="1">
              ${this.#heading('name', 'Pod')} ${this.#heading('state', 'State')}
              ${this.#heading('since', 'Since')}
              <th scope="col" class="ready">Ready</th>
              ${this.#heading('restarts', 'Restarts')}
              <th scope="col" class="says">What it does</th>
            </tr>
          </thead>
          <tbody>
            ${gap(from)} ${slice.map((row, index) => this.#row(row, from + index, nowMs))}
            ${gap(shown.length - to)}
          </tbody>
        </table>
        ${shown.length === 0 ? html`<p class="none">No pod fits.</p>` : nothing}
      </div>
    `;
  }

  readonly #scrolled = ({ target }: Event): void => {
    const frame = target as HTMLElement;
    this.#top = frame.scrollTop;
    this.#height = frame.clientHeight;
    this.#options.onChange();
  };

  #filters(rows: ReadonlyMap<string, PodRow>): TemplateResult {
    const { search, state } = this.#choice;
    return html`
      <div class="filters">
        <input
          id="search"
          type="search"
          placeholder="Search pods (/)"
          aria-label="Search pods"
          .value=${search}
          @input=${({ target }: InputEvent) => this.choose({ search: (target as HTMLInputElement).value })}
        />
        <span class="count" role="status">${this.#chosen.length} of ${rows.size} pods</span>
        <div class="states" role="group" aria-label="States">
          ${stateCounts(rows.values())
            .slice(0, STATES_SHOWN_MAX)
            .map(
              ([name, count]) =>
                html`<button
                  type="button"
                  class=${kindOf(name)}
                  aria-pressed=${name === state ? 'true' : 'false'}
                  @click=${() => this.choose({ state: name === state ? '' : name })}
                >
                  ${name} <b>${count}</b>
                </button>`,
            )}
        </div>
      </div>
    `;
  }

  #heading(column: Column, title: string): TemplateResult {
    const { column: sorted, isDescending } = this.#choice;
    const isSorted = column === sorted;
    const order = isDescending ? 'descending' : 'ascending';
    return html`<th scope="col" class=${column} aria-sort=${isSorted ? order : 'none'}>
      <button type="button" @click=${() => this.choose({ column, isDescending: isSorted && !isDescending })}>
        ${title}${isSorted ? (isDescending ? ' ↓' : ' ↑') : ''}
      </button>
    </th>`;
  }

  #row(row: PodRow, index: number, nowMs: number): TemplateResult {
    const { namespace, name, state, sinceMs, ready, containers, restarts, nextTryMs, says } = row;
    const waitMs = nextTryMs === undefined || state === AT_REST ? 0 : nextTryMs - nowMs;
    const text = says.replace(/\.$/u, '') + (waitMs > 0 ? ` (in ${duration(waitMs)})` : '');
    return html`<tr aria-rowindex=${index + 2} class=${index === this.selected ? 'selected' : ''}>
      <td class="name">
        <a href=${podLink(row)}><span class="namespace">${namespace}/</span>${name}</a>
      </td>
      <td class="state"><span class="badge ${kindOf(state)}">${state}</span></td>
      <td class="since">${sinceMs === undefined ? '' : duration(nowMs - sinceMs)}</td>
      <td class="ready">${ready}/${containers}</td>
      <td class="restarts">${restarts}</td>
      <td class="says" title=${says}>${text}</td>
    </tr>`;
  }
}

function gap(rows: number): TemplateResult | typeof nothing {
  if (rows <= 0) return nothing;
  return html`<tr aria-hidden="true" class="gap">
    <td colspan="6" .style=${`height:${rows * ROW_PX}px`}></td>
  </tr>`;
}
