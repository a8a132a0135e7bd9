import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from '@jest/globals';

const MODULE = fileURLToPath(new URL('../../src/system/end-process.ts', import.meta.url));
const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

function start(code: string, ...flags: string[]) {
  const script = `import { endProcess, endAfterOutput } from ${JSON.stringify(MODULE)};\n${code}`;
  const args = ['--disable-warning=ExperimentalWarning', ...flags, '--input-type=module', '--eval', script];
  const child = spawn(process.execPath, args);
  children.push(child);
  return child;
}

/** Many functions are compiled while much is allocated: a thread of V8 that compiles waits for a collection of garbage. */
const BUSY = `
  const functions = Array.from({ length: 400 }, (_, n) =>
    new Function('list', 'by', 'let sum = ' + n + '; for (const { x } of list) sum += x * by; return { sum, by, n: "n" + sum };'));
  const endAt = Date.now() + 100 + Math.random() * 300;
  let kept = [];
  const step = () => {
    for (let round = 0; round < 50; round++) {
      const list = Array.from({ length: 50 }, (_, x) => ({ x, y: { z: [x] } }));
      for (let by = 0; by < 20; by++) kept.push(functions[Math.floor(Math.random() * 400)](list, by));
      if (kept.length > 20000) kept = [];
    }
    if (Date.now() > endAt) endProcess(3);
    setImmediate(step);
  };
  step();`;

describe('a process that ends itself', () => {
  test('ends with its code while V8 compiles in the background', async () => {
    for (let round = 0; round < 5; round++) {
      const busy = Array.from({ length: 6 }, () => start(BUSY, '--optimize-for-size', '--v8-pool-size=1'));
      const ends = await Promise.all(busy.map((child) => once(child, 'exit')));
      expect(ends).toEqual(busy.map(() => [3, null]));
    }
  });

  test('loses no output where it waits for it', async () => {
    const child = start(`process.stdout.write('x'.repeat(1_000_000)); await endAfterOutput(4);`);
    const ended = once(child, 'exit');
    let length = 0;
    for await (const chunk of child.stdout) length += (chunk as Buffer).length;
    expect(length).toBe(1_000_000);
    expect(await ended).toEqual([4, null]);
  });

  test('does not wait for a reader that is gone', async () => {
    const child = start(
      `process.stdout.on('error', () => {}); process.stdout.write('x'.repeat(1_000_000)); await endAfterOutput(5);`,
    );
    child.stdout.destroy();
    expect(await once(child, 'exit')).toEqual([5, null]);
  });
});
