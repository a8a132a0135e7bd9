import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { watchLeakedTasks } from './leaked-tasks.ts';

const idOf = (digit: string) => digit.repeat(64);
const started = (id: string, problem: string) =>
  `level=error msg="StartContainer for \\"${id}\\" failed" error="failed to create containerd task: ${problem}: unknown"\n`;
const LEAK = 'failed to get task pid: context canceled';

test('names each task that containerd forgets, whatever the pieces in which the log grows', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'statelet-leaked-'));
  const log = join(dir, 'containerd.log');
  writeFileSync(log, started(idOf('a'), LEAK));
  const freed: string[] = [];
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const close = watchLeakedTasks(log, (id) => {
    freed.push(id);
    if (id === idOf('e')) resolve(undefined);
  });
  try {
    const line = started(idOf('b'), LEAK);
    appendFileSync(log, started(idOf('c'), 'no such image') + line.slice(0, 40));
    appendFileSync(log, line.slice(40));
    appendFileSync(
      log,
      `msg="Failed to delete containerd container \\"${idOf('e')}\\"" error="cannot delete running task ${idOf('e')}: failed precondition"\n`,
    );
    await promise;
    expect(freed).toEqual([idOf('b'), idOf('e')]);
  } finally {
    close();
    rmSync(dir, { recursive: true });
  }
});
