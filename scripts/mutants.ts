/**
 * `npm run mutants [-- NAME…]`: breaks the pod's life, one way after another, and sees whether the suites notice. Exit code 1
 * where one went unnoticed; 2 where it could not be tried, or the tree as it is does not pass.
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Catch, hasLayer, type Layer, LAYERS, runLayer } from './mutants/layers.ts';
import { MUTANTS } from './mutants/list.ts';
import type { Mutant } from './mutants/mutant.ts';
import { Workplace } from './mutants/workplace.ts';

const USAGE = `Usage: npm run mutants [-- [--layer LAYER]… [NAME…]]

Applies each mutant of scripts/mutants, or those that are named, to a copy of the tree and runs the suites there until one
fails. Layers: ${LAYERS.join(', ')}; a mutant counts as caught when paths or simulation catches it.
--list only prints the names.`;

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** Two cores are what CI has. */
const AT_ONCE = 2;
const MIN_LIMIT_MS = 60_000;

interface Report {
  readonly mutant: Mutant;
  /** By layer, how it was caught. */
  readonly catches: ReadonlyMap<Layer, Catch>;
}

function fail(message: string): never {
  console.error(`mutants: ${message}`);
  process.exit(2);
}

interface Choice {
  readonly mutants: readonly Mutant[];
  readonly layers: readonly Layer[];
}

function choiceFromCommandLine(): Choice {
  const options = {
    help: { type: 'boolean', short: 'h' },
    list: { type: 'boolean' },
    layer: { type: 'string', multiple: true },
  } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  if (values.help || values.list) {
    console.log(values.help ? USAGE : MUTANTS.map(({ name }) => name).join('\n'));
    process.exit(0);
  }
  const named = positionals.map(
    (name) => MUTANTS.find((mutant) => mutant.name === name) ?? fail(`there is no mutant "${name}"`),
  );
  const layers = values.layer?.map(
    (name) => LAYERS.find((layer) => layer === name) ?? fail(`there is no layer "${name}"`),
  );
  return { mutants: named.length > 0 ? named : MUTANTS, layers: layers ?? LAYERS };
}

/** Runs the layers on the tree as it is; returns how long each may take with a mutant. */
async function baseline(workplace: Workplace, layers: readonly Layer[]): Promise<ReadonlyMap<Layer, number>> {
  const limits = new Map<Layer, number>();
  for (const layer of layers) {
    const began = Date.now();
    const how = await runLayer(layer, workplace.root, '', 10 * MIN_LIMIT_MS);
    if (how !== undefined) fail(`the tree as it is does not pass (${layer}): ${how}`);
    const tookMs = Date.now() - began;
    limits.set(layer, Math.max(MIN_LIMIT_MS, 4 * tookMs));
    console.log(`without a mutant, ${layer} passes in ${seconds(tookMs)}`);
  }
  return limits;
}

async function tryOut(
  workplace: Workplace,
  mutant: Mutant,
  limits: ReadonlyMap<Layer, number>,
): Promise<Report> {
  const catches = new Map<Layer, Catch>();
  const began = Date.now();
  await workplace.with(mutant, async () => {
    for (const [layer, limitMs] of limits) {
      catches.set(layer, await runLayer(layer, workplace.root, mutant.file, limitMs));
    }
  });
  const report = { mutant, catches };
  const verdict = isCaught(report) ? `caught by ${catchers(report)}` : 'NOT CAUGHT';
  console.log(`${mutant.name.padEnd(36)}${verdict} (${seconds(Date.now() - began)})`);
  return report;
}

/** Two workplaces share the list; each takes the next mutant when it is done with one. */
async function tryAll(
  workplaces: readonly Workplace[],
  mutants: readonly Mutant[],
  limits: ReadonlyMap<Layer, number>,
): Promise<readonly Report[]> {
  const reports: Report[] = [];
  const left = mutants.entries();
  const work = workplaces.map(async (workplace) => {
    for (const [index, mutant] of left) reports[index] = await tryOut(workplace, mutant, limits);
  });
  await Promise.all(work);
  return reports;
}

/** By what a mutant must be caught; where only unit suites were asked for, these. */
function isCaught({ catches }: Report): boolean {
  const judges = [...catches].filter(([layer]) => layer !== 'unit' || catches.size === 1);
  return judges.some(([, how]) => how !== undefined);
}

function catchers({ catches }: Report): string {
  const names = [...catches].filter(([, how]) => how !== undefined).map(([layer]) => layer);
  return names.join(', ') || 'nothing';
}

function howOf({ catches }: Report): string {
  const ways = LAYERS.map((layer) => catches.get(layer)).filter((how) => how !== undefined);
  return (ways.length > 1 && catches.has('unit') ? ways.slice(0, -1) : ways).join('; ');
}

function table(reports: readonly Report[]): string {
  const header = ['mutant', 'breaks', 'caught by', 'how'];
  const rows = reports.map((report) => [
    report.mutant.name,
    report.mutant.breaks,
    isCaught(report) ? catchers(report) : `NOT CAUGHT (${catchers(report)})`,
    howOf(report),
  ]);
  const lines = [header, header.map(() => '---'), ...rows];
  const widths = header.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const row = (line: string[]) =>
    `| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return lines.map(row).join('\n');
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

async function main(): Promise<void> {
  const began = Date.now();
  const { mutants, layers } = choiceFromCommandLine();
  const workplaces = await Promise.all(Array.from({ length: AT_ONCE }, () => Workplace.of(ROOT)));
  try {
    const [first] = workplaces;
    const present: Layer[] = [];
    for (const layer of layers) if (await hasLayer(layer, ROOT)) present.push(layer);
    const limits = await baseline(first!, present);
    const reports = await tryAll(workplaces, mutants, limits);
    const missed = reports.filter((report) => !isCaught(report));
    console.log(`\n${table(reports)}\n`);
    console.log(
      `${reports.length - missed.length} of ${reports.length} mutants caught in ${seconds(Date.now() - began)}`,
    );
    process.exitCode = missed.length > 0 ? 1 : 0;
  } finally {
    await Promise.all(workplaces.map((workplace) => workplace.remove()));
  }
}

await main();
