/** Runs scripts as another user of the machine. */
import { execFileSync } from 'node:child_process';

const NOBODY = 65534;

/**
 * The output of a script that runs as the user nobody; it sees the module as `own`. The module is loaded first, by root: the checkout may be in a
 * folder that no other user can enter.
 */
export function outputAsNobody(module: string, script: string, ...args: readonly string[]): string {
  const code = `
    const own = await import(${JSON.stringify(module)});
    process.setgroups([]); process.setgid(${NOBODY}); process.setuid(${NOBODY});
    ${script}`;
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', code];
  return execFileSync(process.execPath, [...flags, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}
