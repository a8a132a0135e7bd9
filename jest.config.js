export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleFileExtensions: ['ts', 'js', 'json', 'node'],
  // Node's own type stripping: positions are kept, so that stack traces need no source maps.
  transform: { '\\.ts$': '<rootDir>/scripts/jest-strip-types.cjs' },
  // Two cores are what CI has; end-to-end tests start processes of their own.
  maxWorkers: 2,
  // Longer than what a test waits for, on a busy machine too, so that it is said what has not come.
  testTimeout: 300_000,
};
