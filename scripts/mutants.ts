/**
 * `npm run mutants [-- NAME…]`: applies one defect after another to a copy of the tree, and checks that the suites notice. Exit
 * code 1: a mutant was not caught. 2: a mutant could not be applied, or the unchanged tree does not pass.
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Catch, hasLayer, type Layer, LAYERS, runLayer } from './mutants/layers.ts';
import { MUTANTS } from './mutants/list.ts';
import type { Mutant } from './mutants/mutant.ts';
import { Workplace } from './mutants/workplace.ts';

const USAGE = `Usage: npm run mutants [-- [--layer LAYER]… [NAME…]]

Applies each mutant of scripts/mutants, or the named ones, to a copy of the tree, runs the suites there and prints a table.
Layers: ${LAYERS.join(', ')}. A mutant counts as caught when the simulation or the paths notice it; the unit suites do not
count. The paths test the charts: for mutants of other files they run only if the simulation does not notice the mutant, or if --layer
names them.
--list prints the names.`;

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** CI has two cores. */
const AT_ONCE = 2;
const MIN_LIMIT_MS = 120_000;

interface Options {
  readonly mutants: readonly Mutant[];
  readonly layers: readonly Layer[];
  /** Runs all layers on every mutant. */
  readonly thorough: boolean;
}

interface Report {
  readonly mutant: Mutant;
  /** How each layer that was run caught it. */
  readonly catches: ReadonlyMap<Layer, Catch>;
}

function fail(message: string): never {
  console.error(`mutants: ${message}`);
  process.exit(2);
}

function optionsFromCommandLine(): Options {
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
  return {
    mutants: named.length > 0 ? named : MUTANTS,
    layers: layers ?? LAYERS,
    thorough: layers !== undefined,
  };
}

/** Runs the layers on the unchanged tree. Returns how long each may take with a mutant. */
async function baseline(workplace: Workplace, layers: readonly Layer[]): Promise<ReadonlyMap<Layer, number>> {
  const limits = new Map<Layer, number>();
  for (const layer of layers) {
    if (!(await hasLayer(layer, workplace.root))) continue;
    const began = Date.now();
    const how = await runLayer(layer, workplace.root, '', 10 * MIN_LIMIT_MS);
    if (how !== undefined) fail(`the unchanged tree does not pass (${layer}): ${how}`);
    const tookMs = Date.now() - began;
    limits.set(layer, Math.max(MIN_LIMIT_MS, 5 * tookMs));
    console.log(`without a mutant, ${layer} passes in ${seconds(tookMs)}`);
  }
  return limits;
}

class Trial {
  readonly #limits: ReadonlyMap<Layer, number>;
  readonly #thorough: boolean;

  constructor(limits: ReadonlyMap<Layer, number>, thorough: boolean) {
    this.#limits = limits;
    this.#thorough = thorough;
  }

  /** Each workplace takes the next mutant of the list when it has finished one. */
  async all(workplaces: readonly Workplace[], mutants: readonly Mutant[]): Promise<readonly Report[]> {
    const reports: Report[] = [];
    const left = mutants.entries();
    const work = workplaces.map(async (workplace) => {
      for (const [index, mutant] of left) reports[index] = await this.#one(workplace, mutant);
    });
    await Promise.all(work);
    return reports;
  }

  async #one(workplace: Workplace, mutant: Mutant): Promise<Report> {
    const catches = new Map<Layer, Catch>();
    const began = Date.now();
    await workplace.with(mutant, async () => {
      for (const [layer, limitMs] of this.#limits) {
        if (!this.#isWorthIt(layer, mutant, catches)) continue;
        catches.set(layer, await runLayer(layer, workplace.root, mutant.file, limitMs));
      }
    });
    const report = { mutant, catches };
    const by = LAYERS.filter((layer) => catches.get(layer) !== undefined).join(', ') || 'nothing';
    const verdict = isCaught(report) ? `caught by ${by}` : `NOT CAUGHT (noticed by ${by})`;
    console.log(`${mutant.name.padEnd(36)}${verdict} (${seconds(Date.now() - began)})`);
    return report;
  }

  #isWorthIt(layer: Layer, { file }: Mutant, catches: ReadonlyMap<Layer, Catch>): boolean {
    if (layer !== 'paths' || this.#thorough || /^src\/agent\/(?:machines|policies)\//.test(file)) return true;
    return catches.get('simulation') === undefined;
  }
}

/** The unit layer counts only if no other layer was run. */
function isCaught({ catches }: Report): boolean {
  const judges = [...catches].filter(([layer]) => layer !== 'unit' || catches.size === 1);
  return judges.some(([, how]) => how !== undefined);
}

function table(reports: readonly Report[], layers: readonly Layer[]): string {
  const rows = reports.map(({ mutant: { name, breaks }, catches }) => {
    const how = layers.map((layer) => catches.get(layer)).find((way) => way !== undefined);
    return [name, breaks, ...layers.map((layer) => cell(layer, catches)), how ?? ''];
  });
  const header = ['mutant', 'breaks', ...layers, 'how'];
  const lines = [header, header.map(() => '---'), ...rows];
  const widths = header.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) => `| ${line.map((text, column) => text.padEnd(widths[column] ?? 0)).join(' | ')} |`)
    .join('\n');
}

function cell(layer: Layer, catches: ReadonlyMap<Layer, Catch>): string {
  if (!catches.has(layer)) return '';
  return catches.get(layer) === undefined ? 'missed' : 'caught';
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

async function main(): Promise<void> {
  const began = Date.now();
  const { mutants, layers, thorough } = optionsFromCommandLine();
  const workplaces = await Promise.all(Array.from({ length: AT_ONCE }, () => Workplace.of(ROOT)));
  process.on('exit', () => workplaces.forEach((workplace) => workplace.remove()));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(2));

  const [first] = workplaces;
  const limits = await baseline(first!, layers);
  const reports = await new Trial(limits, thorough).all(workplaces, mutants);
  const missed = reports.filter((report) => !isCaught(report));
  console.log(`\n${table(reports, [...limits.keys()])}\n`);
  const caught = `${reports.length - missed.length} of ${reports.length} mutants caught`;
  console.log(`${caught} in ${seconds(Date.now() - began)}`);
  process.exitCode = missed.length > 0 ? 1 : 0;
}

await main();
