/** Eviction plugins in processes of their own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const WORKER = fileURLToPath(new URL('plugin-processes-worker.ts', import.meta.url));

export interface BenchPlugin {
  readonly name: string;
  /** 0: at once. Undefined: never. */
  readonly answersAfterMs?: number;
}

/** What a process serves. */
export interface PluginProcess {
  readonly registryDir: string;
  readonly plugins: readonly BenchPlugin[];
}

/** Resolves when all plugins serve. Returns the function that ends them. */
export async function startPlugins(
  registryDir: string,
  plugins: readonly BenchPlugin[],
  processes: number,
): Promise<() => Promise<void>> {
  const children = Array.from({ length: processes }, (_, index) => {
    const own = plugins.filter((_plugin, at) => at % processes === index);
    return start({ registryDir, plugins: own });
  });
  await Promise.all(children.map(async ({ stdout }) => stdout && once(stdout, 'data')));
  return async () => {
    await Promise.all(children.map(ended));
  };
}

function start(plugins: PluginProcess): ChildProcess {
  const args = ['--disable-warning=ExperimentalWarning', WORKER, JSON.stringify(plugins)];
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
}

async function ended(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit');
  child.kill();
  await exit;
}
