/** The file of `statelet charts --open`: all charts, with the meaning of their states and their source. The file is complete in itself. */
import { html, nothing, render, type TemplateResult } from 'lit-html';
import type { DrawnChart } from '../../types/page-views.ts';
import { chartView } from './chart-view.ts';

interface ChartFile {
  readonly version: string;
  readonly charts: readonly DrawnChart[];
  /** The source of each chart, as code for XState. */
  readonly sources: Readonly<Record<string, string>>;
}

const { version, charts, sources } = JSON.parse(
  document.querySelector('#charts')?.textContent ?? '',
) as ChartFile;

function page(): TemplateResult {
  return html`<header><span class="brand">Statelet</span> <span class="where">${version}</span></header>
    <main>
      <h1>Charts</h1>
      <nav aria-label="Charts">
        <ul class="cards">
          ${charts.map(
            ({ name, about }) =>
              html`<li>
                <a href=${`#${name}`}>${name}</a>
                <p>${about}</p>
              </li>`,
          )}
        </ul>
      </nav>
      ${charts.map(section)}
    </main>`;
}

function section(chart: DrawnChart): TemplateResult {
  const { name, about, states } = chart;
  const source = sources[name] ?? '';
  return html`<section id=${name} aria-label=${name}>
    <h2>${name}</h2>
    <p>${about}</p>
    ${chartView({ chart, states: undefined, transitions: [], nowMs: 0 })}
    <details>
      <summary>What the states of ${name} mean</summary>
      <dl class="meanings">
        ${states.map(({ id, says, about: why }) => {
          const said = [says, why].filter((text) => text !== undefined);
          return id === '' || said.length === 0
            ? nothing
            : html`<dt>${id}</dt>
                <dd>${said.join('. ')}</dd>`;
        })}
      </dl>
    </details>
    <details>
      <summary>The source of ${name}, for the Stately editor</summary>
      <p>
        Copy it, open <a href="https://stately.ai/editor">the editor</a>, and import it as code. It also runs
        as it is, with xstate.
        <button type="button" @click=${({ target }: Event) => void copy(target as HTMLElement, source)}>
          Copy
        </button>
      </p>
      <pre tabindex="0" aria-label="Source of ${name}">${source}</pre>
    </details>
  </section>`;
}

/** A browser may not let a page use the clipboard. Then the text is selected, so that the user can copy it. */
async function copy(button: HTMLElement, source: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(source);
    button.textContent = 'Copied';
  } catch {
    const text = button.closest('details')?.querySelector('pre');
    if (text != null) getSelection()?.selectAllChildren(text);
    button.textContent = 'Selected: copy it with Ctrl-C';
  }
}

render(page(), document.body);
// The target of the address exists only now.
if (location.hash !== '')
  document.querySelector(`[id="${CSS.escape(location.hash.slice(1))}"]`)?.scrollIntoView();
