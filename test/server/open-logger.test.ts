import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import type { Level } from 'pino';
import { jsonLogger, levelOf, textLogger } from '../../src/server/open-logger.ts';
import { prettyStream } from '../../src/server/pretty.ts';

function collect() {
  const lines: string[] = [];
  return { lines, destination: { write: (line: string) => void lines.push(line) } };
}

function pretty(level: Level = 'info') {
  const { lines, destination } = collect();
  return { lines, logger: textLogger(level, prettyStream(destination, false)) };
}

const TIME = String.raw`\d\d:\d\d:\d\d\.\d{3}`;

describe('text', () => {
  test('is one line: time, level, pod, message, fields', () => {
    const { lines, logger } = pretty();
    logger.info(
      { pod: 'default/web', uid: 'u', container: 'c', attempt: 0, why: 'a b', ids: ['x'] },
      'container started',
    );
    expect(lines.join('')).toMatch(
      new RegExp(
        String.raw`^${TIME} INFO: default/web: container started container=c attempt=0 why="a b" ids=\["x"\]\n$`,
      ),
    );
  });

  test('shows an error by its message, and a stack only for a defect of the daemon', () => {
    const { lines, logger } = pretty();
    logger.error({ err: new Error('no space') }, 'cannot write');
    logger.fatal({ err: new Error('defect') }, 'stopping');
    expect(lines[0]).toMatch(new RegExp(`^${TIME} ERROR: cannot write: no space\n$`));
    expect(lines[1]).toMatch(/FATAL: stopping: defect\nError: defect\n +at /);
  });

  test('takes cursor movements and colours out of what pods may have a say in', () => {
    const { lines, logger } = pretty();
    logger.warn({ pod: 'default/web', err: new Error('\u001b[2Jgone'), message: '\r\u009b31m' }, 'a\u0007b');
    // eslint-disable-next-line no-control-regex -- they are what is looked for
    expect(lines.join('')).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/u);
    expect(lines.join('')).toContain('gone');
  });

  test('indents the further lines of a message', () => {
    const { lines, logger } = pretty();
    logger.info('one\ntwo');
    expect(lines.join('')).toMatch(/INFO: one\n {4}two\n$/);
  });
});

test('JSON has levels by name, RFC 3339 times and every field', () => {
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
  const url = new URL('../../src/server/open-logger.ts', import.meta.url).href;
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

  test('writes JSON by itself when nobody watches', () => {
    expect(JSON.parse(run('auto', "logger.info('hello')").stdout)).toMatchObject({
      level: 'info',
      msg: 'hello',
    });
  });

  test.each(['json', 'text'])('outlives its reader (%s)', (format) => {
    const { stderr } = run(
      format,
      "for (let i = 0; i < 20000; i++) logger.info('line %d', i);",
      '| head -n 1',
    );
    expect(stderr.trim()).toBe('exit 0');
  });

  test('outlives a full disk', () => {
    const { stderr } = run('json', "for (let i = 0; i < 100; i++) logger.info('line %d', i);", '> /dev/full');
    expect(stderr.trim()).toBe('exit 0');
  });
});

test('lines that cannot be written do not fill the memory, and neither do they end the process', () => {
  const script = `
    const { createLogger } = await import(${JSON.stringify(new URL('../../src/server/open-logger.ts', import.meta.url).href)});
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
