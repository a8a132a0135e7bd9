/** The node: what it does, its pressure and its room. */
import { html, type TemplateResult } from 'lit-html';
import type { NodeView, RoomView } from '../../types/page-views.ts';

export function nodeView(node: NodeView): TemplateResult {
  const { isReady, sentences, conditions, room } = node;
  return html`
    <section class="node" aria-label="Node">
      <div>
        ${sentences.map((sentence, index) => html`<p class=${index === 0 && !isReady ? 'bad' : ''}>${sentence}</p>`)}
        <p>
          ${
            conditions.length === 0
              ? html`<span class="badge rest">no pressure</span>`
              : conditions.map((condition) => html`<span class="badge trouble">${condition}</span> `)
          }
        </p>
      </div>
      <dl class="room">${room.map(roomView)}</dl>
    </section>
  `;
}

function roomView({ resource, requested, allocatable }: RoomView): TemplateResult {
  const share = allocatable === 0 ? 0 : Math.min(1, requested / allocatable);
  return html`<div>
    <dt>${resource}</dt>
    <dd>
      <meter min="0" max="1" value=${share} aria-label="${resource} requested"></meter>
      ${amount(resource, requested)} of ${amount(resource, allocatable)} requested
    </dd>
  </div>`;
}

const UNITS = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi'];

/** `cpu` in thousandths; pods as a count; all others in bytes. */
export function amount(resource: string, value: number): string {
  if (resource === 'cpu') return String(Math.round(value / 10) / 100);
  if (resource === 'pods') return String(value);
  const power = value === 0 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(value) / 10));
  const scaled = value / 1024 ** power;
  return `${scaled >= 100 ? Math.round(scaled) : Math.round(scaled * 10) / 10}${UNITS[power] ?? ''}`;
}
