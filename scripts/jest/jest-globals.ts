/** What a test file imports from `@jest/globals`. It is loaded anew for each file. */
import { currentGlobals } from './plain-runtime.ts';

export const {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  fdescribe,
  fit,
  it,
  jest,
  test,
  xdescribe,
  xit,
  xtest,
} = currentGlobals();
