import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { jsonLogger, levelOf } from '../../../src/agent/server/open-logger.ts';
import { ACTING, HOSTILE } from '../../support/hostile-text.ts';

function collect() {
  const lines: string[] = [];
  return { lines, destination: { write: (line: string) => void lines.push(line) } };
}

test('a line of JSON has its level by name, its time in RFC 3339, and every field', () => {
  const { lines, destination } = collect();
  jsonLogger('info', destination).info({ pod: 'default/web', uid: 'u' }, 'container started');
  const line = JSON.parse(lines.join('')) as { time: string };
  expect(line).toEqual({
    level: 'info',
    time: expect.any(String),
    pod: 'default/web',
    uid: 'u',
    msg: 'container started',
  });
  expect(new Date(line.time).toISOString()).toBe(line.time);
});

test('a line of JSON has no control characters for a terminal, and the same content', () => {
  const { lines, destination } = collect();
  jsonLogger('info', destination).info({ pod: HOSTILE, err: new Error(HOSTILE) }, HOSTILE);
  expect(lines.join('')).not.toMatch(ACTING);
  expect(JSON.parse(lines.join(''))).toMatchObject({ pod: HOSTILE, msg: HOSTILE, err: { message: HOSTILE } });
});

test.each([
  [0, 'info'],
  [3, 'info'],
  [4, 'debug'],
  [5, 'debug'],
  [6, 'trace'],
  [10, 'trace'],
])('-v %d logs from %s upwards', (verbosity, level) => {
  expect(levelOf(verbosity)).toBe(level);
});

describe('a process that logs', () => {
  const url = new URL('../../../src/agent/server/open-logger.ts', import.meta.url).href;
  const run = (format: string, script: string, shell = '') => {
    const code = `const { createLogger } = await import(${JSON.stringify(url)});
      const logger = await createLogger({ verbosity: 0, format: '${format}' }); ${script}`;
    const node = [process.execPath, '--input-type=module', '--eval', code];
    return shell === ''
      ? spawnSync(node[0] ?? '', node.slice(1), { encoding: 'utf8' })
      : spawnSync('sh', ['-c', `{ "$@"; echo "exit $?" >&2; } ${shell}`, 'sh', ...node], {
          encoding: 'utf8',
        });
  };

  test.each(['json', 'text', 'auto'])('loses no line at process.exit (%s)', (format) => {
    const { stdout } = run(
      format,
      "for (let i = 0; i < 500; i++) logger.info('line %d', i); process.exit(0)",
    );
    expect(stdout.trimEnd().split('\n')).toHaveLength(500);
    expect(stdout).toContain('line 499');
  });

  test('writes JSON when its output is not a terminal', () => {
    expect(JSON.parse(run('auto', "logger.info('hello')").stdout)).toMatchObject({
      level: 'info',
      msg: 'hello',
    });
  });

  test.each(['json', 'text'])('goes on when its output is closed (%s)', (format) => {
    const { stderr } = run(
      format,
      "for (let i = 0; i < 20000; i++) logger.info('line %d', i);",
      '| head -n 1',
    );
    expect(stderr.trim()).toBe('exit 0');
  });

  test('goes on when the disk is full', () => {
    const { stderr } = run('json', "for (let i = 0; i < 100; i++) logger.info('line %d', i);", '> /dev/full');
    expect(stderr.trim()).toBe('exit 0');
  });
});

test('lines that cannot be written do not fill the memory, and do not end the process', () => {
  const script = `
    const { createLogger } = await import(${JSON.stringify(new URL('../../../src/agent/server/open-logger.ts', import.meta.url).href)});
    const logger = await createLogger({ verbosity: 0, format: 'json' });
    const line = 'x'.repeat(10_000);
    for (let count = 0; count < 20_000; count++) logger.info(line);
    process.exitCode = process.memoryUsage().rss < 250e6 ? 7 : 8;
  `;
  const full = openSync('/dev/full', 'w');
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script];
  const { status } = spawnSync(process.execPath, args, { stdio: ['ignore', full, 'inherit'] });
  closeSync(full);
  expect(status).toBe(7);
});
