/** `npm run vectors -- [DIR]`: compares the policies with golden vectors. Exit code 1: a difference; 2: nothing to run. */
import { parseArgs } from 'node:util';
import {
  defaultVectorFolder,
  describeFailure,
  listAdapters,
  listVectors,
  loadAdapter,
  readVectors,
  runVectors,
  type VectorReport,
} from '../test/support/vectors.ts';

const USAGE = `Usage: npm run vectors -- [DIR]

Runs every NAME.json of DIR that has an adapter (test/vectors/NAME.ts) and prints passed, failed and skipped
cases per file, with the first differences. Without DIR: ../shared/vectors beside the project, else test/vectors.
Exit code: 0 all passed, 1 a difference or a malformed file, 2 nothing could be run.`;
const DIFFERENCES_SHOWN = 5;

function fail(message: string): never {
  console.error(`vectors: ${message}`);
  process.exit(2);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The folder to run; undefined when only the help is wanted. */
function folderFromCommandLine(): string | undefined {
  try {
    const options = { help: { type: 'boolean', short: 'h' } } as const;
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    if (values.help) return undefined;
    if (positionals.length > 1) throw new Error(`one folder at a time, got ${positionals.join(', ')}`);
    return positionals[0] ?? defaultVectorFolder();
  } catch (error) {
    return fail(`${messageOf(error)}\n\n${USAGE}`);
  }
}

async function vectorsOf(folder: string): Promise<string[]> {
  const names = await listVectors(folder).catch((error: unknown) => {
    return fail(`cannot read the folder ${folder}: ${messageOf(error)}`);
  });
  if (names.length === 0) fail(`${folder} holds no vector file (NAME.json)`);
  return names;
}

function print({ name, passed, failures, skipped }: VectorReport): void {
  const skips = [...skipped.values()].reduce((sum, count) => sum + count, 0);
  console.log(`${name.padEnd(24)}${passed} passed, ${failures.length} failed, ${skips} skipped`);
  for (const [reason, count] of skipped) console.log(`    skipped ${count}: ${reason}`);
  for (const failure of failures.slice(0, DIFFERENCES_SHOWN)) console.log(`    ${describeFailure(failure)}`);
  if (failures.length > DIFFERENCES_SHOWN) console.log(`    … ${failures.length - DIFFERENCES_SHOWN} more`);
}

/** Whether every case of the file passed. */
async function runOne(folder: string, name: string): Promise<boolean> {
  try {
    const report = runVectors(await readVectors(folder, name), await loadAdapter(name));
    print(report);
    return report.failures.length === 0;
  } catch (error) {
    console.log(`${name.padEnd(24)}cannot be run: ${messageOf(error)}`);
    return false;
  }
}

async function main(): Promise<void> {
  const folder = folderFromCommandLine();
  if (folder === undefined) {
    console.log(USAGE);
    return;
  }
  const names = await vectorsOf(folder);
  const adapters = new Set(await listAdapters());
  const runnable = names.filter((name) => adapters.has(name));
  let failed = 0;
  for (const name of runnable) if (!(await runOne(folder, name))) failed += 1;

  const others = names.filter((name) => !adapters.has(name));
  if (others.length > 0) console.log(`No adapter yet: ${others.join(', ')}`);
  if (runnable.length === 0) fail(`no vector file of ${folder} has an adapter in test/vectors`);
  if (failed > 0) console.log(`${failed} of ${runnable.length} files failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}

await main();
