import { describe, expect, test } from '@jest/globals';
import type { Level } from 'pino';
import { textLogger } from '../../../src/agent/server/open-logger.ts';
import { prettyStream } from '../../../src/agent/server/pretty.ts';
import { ACTING, HOSTILE, MARK } from '../../support/hostile-text.ts';

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

  test('has no control characters for a terminal, whatever names and texts are in it', () => {
    const { lines, logger } = pretty();
    logger.warn({ pod: HOSTILE, err: new Error(HOSTILE), [HOSTILE]: HOSTILE }, HOSTILE);
    logger.fatal({ err: new Error(HOSTILE) }, 'defect');
    expect(lines.join('')).not.toMatch(ACTING);
    expect(lines.join('').split(MARK)).toHaveLength(7 * 3 + 1);
  });

  test('indents the second and later lines of a message', () => {
    const { lines, logger } = pretty();
    logger.info('one\ntwo');
    expect(lines.join('')).toMatch(/INFO: one\n {4}two\n$/);
  });
});
