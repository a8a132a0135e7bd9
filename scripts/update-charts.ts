/** Draws the charts of docs/charts.md and the picture in README.md from the machines. `--check` only says whether they are stale. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { AnyStateMachine } from 'xstate';
import { toMermaid } from '../src/commands/charts/mermaid.ts';
import { machines } from '../src/agent/machines/index.ts';
import { podMachine } from '../src/agent/machines/pod-machine.ts';
import { pictureOf } from './picture/picture.ts';

const FILE = fileURLToPath(new URL('../docs/charts.md', import.meta.url));
const PICTURE = fileURLToPath(new URL('../docs/pod.svg', import.meta.url));
const BLOCK = /(<!-- chart:([\w-]+) -->\n).*?(<!-- \/chart:\2 -->)/gsu;

/** The text with every `<!-- chart:NAME -->` … `<!-- /chart:NAME -->` block filled. Throws for a name that is no machine. */
export function withCharts(markdown: string, known: Readonly<Record<string, AnyStateMachine>>): string {
  return markdown.replace(BLOCK, (_, open: string, name: string, close: string) => {
    const machine = known[name];
    if (machine === undefined) throw new Error(`no machine is called "${name}"`);
    return `${open}\n\`\`\`mermaid\n${toMermaid(machine)}\`\`\`\n\n${close}`;
  });
}

/** Machines without a block in the text. */
export function missingCharts(markdown: string, known: Readonly<Record<string, AnyStateMachine>>): string[] {
  const shown = new Set(Array.from(markdown.matchAll(BLOCK), ([, , name]) => name));
  return Object.keys(known).filter((name) => !shown.has(name));
}

/** `docs/pod.svg`, as it should be. */
export function podPicture(): Promise<string> {
  return pictureOf(podMachine, 'The states of a pod, and the events that lead from one to the next');
}

async function main(): Promise<void> {
  const before = readFileSync(FILE, 'utf8');
  const missing = missingCharts(before, machines);
  if (missing.length > 0) {
    console.error(
      `docs/charts.md has no place for: ${missing.join(', ')}. Add <!-- chart:NAME --> and <!-- /chart:NAME -->.`,
    );
    process.exitCode = 1;
    return;
  }
  const drawn = new Map([
    [FILE, withCharts(before, machines)],
    [PICTURE, await podPicture()],
  ]);
  for (const [file, text] of drawn) {
    if (!process.argv.includes('--check')) {
      writeFileSync(file, text);
    } else if (text !== readFileSync(file, 'utf8')) {
      console.error(`${file} is stale: npm run update:charts`);
      process.exitCode = 1;
    }
  }
}

if (import.meta.main) await main();
