import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import type { JestEnvironment } from '@jest/environment';
import type * as Globals from '@jest/globals';
import type { Config } from '@jest/types';
import { quickExpect } from './build/quick-expect.ts';
import { beginFile, ofCurrentFile } from './module-hooks.ts';

type JestGlobals = typeof Globals;

const require = createRequire(import.meta.url);
/** Node's own. */
const STACK_FRAMES_MAX = 10;
const TEST_TIMEOUT = Symbol.for('TEST_TIMEOUT_SYMBOL');

let given: (JestGlobals & Record<'fdescribe' | 'fit' | 'xdescribe' | 'xit' | 'xtest', unknown>) | undefined;

/** The globals that Jest has made for the current test file. */
export function currentGlobals(): NonNullable<typeof given> {
  if (given === undefined) throw new Error('Import `@jest/globals` in a test that Jest runs');
  return given;
}

/**
 * Loads test files by Node itself, which strips their types: it has the parts of `jest-runtime` that Jest's runner and its test framework use.
 * Modules cannot be mocked.
 */
export default class PlainRuntime {
  readonly #environment: JestEnvironment;
  isTornDown = false;

  constructor(_config: Config.ProjectConfig, environment: JestEnvironment) {
    this.#environment = environment;
    beginFile();
  }

  /** The module that is asked for is the test framework. It keeps the tests of one file, so each file gets its own. */
  requireInternalModule(path: string): unknown {
    Reflect.deleteProperty(require.cache, path);
    return require(path);
  }

  requireModule(path: string): unknown {
    return require(path);
  }

  unstable_shouldLoadAsEsm(): boolean {
    return true;
  }

  unstable_importModule(path: string): Promise<unknown> {
    // Jest's own limit of 100 makes every error take ten times as long, and each `expect` makes one.
    Error.stackTraceLimit = STACK_FRAMES_MAX;
    return import(ofCurrentFile(pathToFileURL(path).href));
  }

  setGlobalsForRuntime(globals: object): void {
    const { moduleMocker, fakeTimersModern: timers } = this.#environment;
    if (!moduleMocker || !timers) throw new Error('The environment of the tests has no mocks and no timers');
    const jest = {
      fn: moduleMocker.fn.bind(moduleMocker),
      spyOn: moduleMocker.spyOn.bind(moduleMocker),
      restoreAllMocks: moduleMocker.restoreAllMocks.bind(moduleMocker),
      setTimeout: (ms: number) => Reflect.set(globalThis, TEST_TIMEOUT, ms),
      useFakeTimers: timers.useFakeTimers.bind(timers),
      useRealTimers: timers.useRealTimers.bind(timers),
      advanceTimersByTime: timers.advanceTimersByTime.bind(timers),
    };
    const { expect } = globals as JestGlobals;
    given = { ...globals, jest, expect: quickExpect(expect) } as unknown as typeof given;
  }

  getSourceMaps(): null {
    return null;
  }

  getAllCoverageInfoCopy(): undefined {
    return undefined;
  }

  enterTestCode(): void {
    // Jest's own runtime refuses imports outside of tests. Here nothing is refused.
  }

  leaveTestCode(): void {
    // As above.
  }

  teardown(): void {
    this.isTornDown = true;
  }
}
