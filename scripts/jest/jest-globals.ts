/** The module that a test file gets for `@jest/globals`. It is loaded anew for each file. */
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
