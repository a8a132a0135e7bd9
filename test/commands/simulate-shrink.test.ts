import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MUTANTS } from '../../scripts/mutants/list.ts';
import { Workplace } from '../../scripts/mutants/workplace.ts';
import type { Finished } from '../support/cli.ts';

const LIMIT_MS = 600_000;

let workplace: Workplace;
beforeAll(async () => {
  workplace = await Workplace.of(fileURLToPath(new URL('../../', import.meta.url)));
});
afterAll(() => workplace.remove());

/** Runs the `statelet` that has the defect. */
function statelet(command: readonly string[]): Promise<Finished> {
  const { promise, resolve } = Promise.withResolvers<Finished>();
  const main = join(workplace.root, 'src/main.ts');
  const args = ['--disable-warning=ExperimentalWarning', main, ...command];
  const child = execFile(process.execPath, args, { maxBuffer: 1e8 }, (_error, stdout, stderr) =>
    resolve({ code: child.exitCode, stdout, stderr }),
  );
  return promise;
}

const replaysOf = (stdout: string) =>
  stdout.match(/(?<=^ {2}statelet ).*$/gm)!.map((line) => line.split(' '));
const violationsOf = (stdout: string) => stdout.match(/^I\d+ violated: .*$/gm)!;
const operationsOf = (stdout: string) => Number(/^ {2}(\d+) operations?, /m.exec(stdout)![1]);

test(
  'a defect of the agent is found, --shrink reduces the run, and the printed commands replay it',
  async () => {
    const mutant = MUTANTS.find(({ name }) => name === 'skip-draining')!;
    await workplace.with(mutant, async () => {
      const found = await statelet(['simulate', '--runs', '50', '--pods', '6', '--hours', '0.5', '--shrink']);
      expect(found.code).toBe(1);
      expect(found.stderr).toContain('an invariant was violated');
      expect(found.stdout).toMatch(/^After \d+ more simulations, this is left:$/m);
      const [whole, shrunk] = replaysOf(found.stdout);
      const violations = violationsOf(found.stdout);
      const [first, again] = [await statelet(whole!), await statelet(shrunk!)];
      expect([first.code, again.code]).toEqual([1, 1]);
      expect([...violationsOf(first.stdout), ...violationsOf(again.stdout)]).toEqual(violations);
      expect(operationsOf(again.stdout)).toBeLessThanOrEqual(6);
      expect(operationsOf(first.stdout)).toBeGreaterThan(operationsOf(again.stdout));
    });
  },
  LIMIT_MS,
);
