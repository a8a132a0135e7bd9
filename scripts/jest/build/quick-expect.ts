/**
 * Jest's `expect` makes hundreds of functions and an error for each value, and tests give it a hundred thousand values. `toBe` and `toEqual` that
 * hold need none of them; whatever does not hold, and every other matcher, is Jest's own. Jest leaves out of stack traces what lies in
 * a folder `jest/build`, so the first line that it shows is the test's.
 */
import type * as Globals from '@jest/globals';

type Expect = (typeof Globals)['expect'];
type Matchers = Readonly<Record<string, unknown>> & Record<'toBe' | 'toEqual', (expected: unknown) => void>;
type Equals = (one: unknown, other: unknown) => boolean;

export function quickExpect(expect: Expect): Expect {
  const jestsOwn = expect as unknown as (...actual: unknown[]) => Matchers;
  const equals = equalityOf(expect);
  const holds = (): void => {
    const state = expect.getState();
    state.assertionCalls += 1;
    state.numPassingAsserts += 1;
  };

  class Expectation {
    readonly actual: unknown;

    constructor(actual: unknown) {
      this.actual = actual;
    }

    toBe(expected: unknown): void {
      if (Object.is(this.actual, expected)) holds();
      else jestsOwn(this.actual).toBe(expected);
    }

    toEqual(expected: unknown): void {
      if (equals(this.actual, expected)) holds();
      else jestsOwn(this.actual).toEqual(expected);
    }
  }

  for (const name of Object.keys(jestsOwn(undefined))) {
    if (name in Expectation.prototype) continue;
    Object.defineProperty(Expectation.prototype, name, {
      get(this: Expectation) {
        return jestsOwn(this.actual)[name];
      },
    });
  }
  const quick = (...actual: unknown[]) =>
    actual.length === 1 ? new Expectation(actual[0]) : jestsOwn(...actual);
  return Object.assign(quick, expect);
}

/** The comparison of `toEqual`. Jest passes it to matchers alone. */
function equalityOf(expect: Expect): Equals {
  let equals: Equals | undefined;
  expect.extend({
    toTellEquality() {
      const testers = [this.utils.iterableEquality];
      equals = (one, other) => this.equals(one, other, testers);
      return { pass: true, message: () => '' };
    },
  });
  (expect(undefined) as unknown as { toTellEquality: () => void }).toTellEquality();
  if (equals === undefined) throw new Error('Jest has called no matcher');
  return equals;
}
