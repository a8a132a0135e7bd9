export default {
  // Test files run in Node's own context, and share the modules of the product: see there.
  testEnvironment: '<rootDir>/scripts/jest/plain-environment.ts',
  runtime: '<rootDir>/scripts/jest/plain-runtime.ts',
  testSequencer: '<rootDir>/scripts/jest/long-first.ts',
  // With src and scripts, Jest can tell which tests a changed file concerns.
  roots: ['<rootDir>/src', '<rootDir>/scripts', '<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  // Those need most of an hour: `npm run test:vm`.
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/vm/'],
  moduleFileExtensions: ['ts', 'js', 'json', 'node'],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  // Node strips the types.
  transform: {},
  // CI has two cores. End-to-end tests wait for much of their time: more workers than cores use it.
  maxWorkers: 6,
  // By default Jest gives a worker half a second to end. One of half a gigabyte may need more, on a busy machine.
  workerGracefulExitTimeout: 10_000,
  // Longer than any wait inside a test, on a busy machine too: the wait fails first, and its message says what did not happen.
  testTimeout: 900_000,
};
