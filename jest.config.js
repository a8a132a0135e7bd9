export default {
  testEnvironment: 'node',
  // With src and scripts, Jest can tell which tests a changed file concerns.
  roots: ['<rootDir>/src', '<rootDir>/scripts', '<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleFileExtensions: ['ts', 'js', 'json', 'node'],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  // Stately's parser of machines (`@xstate/machine-extractor`) needs files that only XState 4 has.
  moduleNameMapper: { '^xstate/lib/(.*)$': 'xstate-4/lib/$1' },
  // Node's own type stripping: positions are kept, so that stack traces need no source maps.
  transform: { '\\.ts$': '<rootDir>/scripts/jest-strip-types.cjs' },
  // CI has two cores. End-to-end tests wait for much of their time: two more workers use it.
  maxWorkers: 4,
  // Longer than any wait inside a test, on a busy machine too: the wait fails first, and its message says what did not happen.
  testTimeout: 300_000,
};
