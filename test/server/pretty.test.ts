import { describe, expect, test } from '@jest/globals';
import type { Level } from 'pino';
import { textLogger } from '../../src/server/open-logger.ts';
import { prettyStream } from '../../src/server/pretty.ts';

function pretty(level: Level = 'info') {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  return { lines, logger: textLogger(level, prettyStream(destination, false)) };
}

const TIME = String.raw`\d\d:\d\d:\d\d\.\d{3}`;

describe('a log line as text', () => {
  test('has time, level, pod, message and fields', () => {
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

  test('shows the message of an error, and its stack only at the level of a defect', () => {
    const { lines, logger } = pretty();
    logger.error({ err: new Error('no space') }, 'cannot write');
    logger.fatal({ err: new Error('defect') }, 'stopping');
    expect(lines[0]).toMatch(new RegExp(`^${TIME} ERROR: cannot write: no space\n$`));
    expect(lines[1]).toMatch(/FATAL: stopping: defect\nError: defect\n +at /);
  });

  test('has no control characters, even if the texts of pods contain them', () => {
    const { lines, logger } = pretty();
    logger.warn({ pod: 'default/web', err: new Error('\u001b[2Jgone'), message: '\r\u009b31m' }, 'a\u0007b');
    // eslint-disable-next-line no-control-regex -- control characters must not be in it
    expect(lines.join('')).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/u);
    expect(lines.join('')).toContain('gone');
  });

  test('indents the second and later lines of a message', () => {
    const { lines, logger } = pretty();
    logger.info('one\ntwo');
    expect(lines.join('')).toMatch(/INFO: one\n {4}two\n$/);
  });
});
