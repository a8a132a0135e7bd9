/** Draws the charts of ARCHITECTURE.md anew from the machines. `--check` only says whether they are stale. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { AnyStateMachine } from 'xstate';
import { toMermaid } from '../src/commands/charts/mermaid.ts';
import { machines } from '../src/machines/index.ts';

const FILE = fileURLToPath(new URL('../ARCHITECTURE.md', import.meta.url));
const BLOCK = /(<!-- chart:([\w-]+) -->\n).*?(<!-- \/chart:\2 -->)/gsu;

/** The text with every `<!-- chart:NAME -->` … `<!-- /chart:NAME -->` block filled. Throws for a name that is no machine. */
export function withCharts(markdown: string, known: Readonly<Record<string, AnyStateMachine>>): string {
  return markdown.replace(BLOCK, (_, open: string, name: string, close: string) => {
    const machine = known[name];
    if (machine === undefined) throw new Error(`no machine is called "${name}"`);
    return `${open}\n\`\`\`mermaid\n${toMermaid(machine)}\`\`\`\n\n${close}`;
  });
}

/** Machines that the text has no block for. */
export function missingCharts(markdown: string, known: Readonly<Record<string, AnyStateMachine>>): string[] {
  const shown = new Set(Array.from(markdown.matchAll(BLOCK), ([, , name]) => name));
  return Object.keys(known).filter((name) => !shown.has(name));
}

function main(): void {
  const before = readFileSync(FILE, 'utf8');
  const missing = missingCharts(before, machines);
  if (missing.length > 0) {
    console.error(
      `ARCHITECTURE.md has no place for: ${missing.join(', ')}. Add <!-- chart:NAME --> and <!-- /chart:NAME -->.`,
    );
    process.exitCode = 1;
    return;
  }
  const after = withCharts(before, machines);
  if (!process.argv.includes('--check')) {
    writeFileSync(FILE, after);
  } else if (after !== before) {
    console.error('The charts in ARCHITECTURE.md are stale: npm run update:charts');
    process.exitCode = 1;
  }
}

if (import.meta.main) main();
