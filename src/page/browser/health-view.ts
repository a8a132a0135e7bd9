/** The colours of the page, each with its sign and one meaning for pods, spans of time and events. */
import { html, type TemplateResult } from 'lit-html';
import type { HealthKind, PodHealth, PodRow } from '../../types/page-views.ts';

interface Meaning {
  /** For those who do not see colours. */
  readonly sign: string;
  readonly words: string;
}

export const HEALTH: Readonly<Record<HealthKind, Meaning>> = {
  ok: { sign: '●', words: 'as it should be' },
  starting: { sign: '◔', words: 'starting' },
  attention: { sign: '▲', words: 'needs attention' },
  failed: { sign: '✕', words: 'failed' },
  ending: { sign: '◌', words: 'ending' },
  done: { sign: '✓', words: 'done' },
};

/** Pods that need attention come first. */
const NEED: readonly HealthKind[] = ['attention', 'failed', 'starting', 'ending', 'ok', 'done'];

export const needOf = (kind: HealthKind): number => NEED.indexOf(kind);

/** A row is not sent anew until something happens, but a pod can come to need attention by time alone. */
export function healthAt({ health, later }: PodRow, nowMs: number): PodHealth {
  return later !== undefined && health.untilMs !== undefined && nowMs >= health.untilMs ? later : health;
}

export function badge(kind: HealthKind, text: string): TemplateResult {
  const { sign, words } = HEALTH[kind];
  return html`<span class="badge ${kind}"
    ><span aria-hidden="true">${sign}</span> <span class="unseen">${words}: </span>${text}</span
  >`;
}

/** Kinds that are drawn over time, beside health. */
const OF_TIME = [
  ['calm', 'at rest'],
  ['wait', 'waits'],
] as const;

export function timeLegend(): TemplateResult {
  const kinds = Object.entries(HEALTH).map(([kind, { words }]) => [kind, words] as const);
  return html`<ul class="legend" aria-label="Colours">
    ${[...kinds, ...OF_TIME].map(([kind, words]) => html`<li><i class="swatch ${kind}"></i>${words}</li>`)}
  </ul>`;
}

/** The colour of a state of a chart. A state shows the work of the agent, not the health of the pod: at rest it has no colour. */
export function stateKind(state: string): HealthKind | 'calm' {
  if (/BackingOff|Failing|Infeasible|Overdue|Present|^Gone$/u.test(state)) return 'attention';
  if (state.startsWith('Terminating') || state === 'Syncing.Draining') return 'ending';
  return /^Syncing\.(?:Starting|Working)/u.test(state) ? 'starting' : 'calm';
}
