import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { terminationPath } from '../../../../src/runtime/process/containers/message-file.ts';
import { outputAsNobody } from '../../../support/as-nobody.ts';
import { testAsRoot } from '../../../support/as-root.ts';
import { containerConfig } from '../../../support/runtime-configs.ts';

const MODULE = new URL('../../../../src/runtime/process/containers/message-file.ts', import.meta.url).href;
const PRIVATE = '/private/message';
const PATH = 'io.kubernetes.container.terminationMessagePath';
const configOf = (path: string) => containerConfig(['true'], { annotations: { [PATH]: path } });

describe('the file of a termination message', () => {
  let dir: string;
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'statelet-message-'));
  });
  afterAll(() => rmSync(dir, { recursive: true }));

  test('is the path of the spec if its folder can be written to', () => {
    expect(terminationPath(configOf(join(dir, 'message')), PRIVATE)).toBe(join(dir, 'message'));
  });

  test.each([
    ['for the default path, which all containers of the machine would share', '/dev/termination-log'],
    ['for a relative path', 'message'],
    ['for an empty path', ''],
    ['for a path whose folder does not exist', '/no/such/folder/message'],
  ])('is a private file %s', (_, path) => {
    expect(terminationPath(configOf(path), PRIVATE)).toBe(PRIVATE);
  });

  test('is a private file for a container without the annotation', () => {
    expect(terminationPath(containerConfig(['true']), PRIVATE)).toBe(PRIVATE);
  });

  testAsRoot('is a private file for a path whose folder the user may not write to', () => {
    const script = `
      const annotations = { ${JSON.stringify(PATH)}: ${JSON.stringify(join(dir, 'message'))} };
      console.log(own.terminationPath({ annotations }, ${JSON.stringify(PRIVATE)}));
    `;
    chmodSync(dir, 0o755);
    expect(outputAsNobody(MODULE, script)).toBe(`${PRIVATE}\n`);
    return Promise.resolve();
  });
});
