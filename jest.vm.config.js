import all from './jest.config.js';

export default {
  ...all,
  roots: ['<rootDir>/test/vm'],
  testPathIgnorePatterns: [],
  maxWorkers: 1,
  // An emulated machine is about twenty times as slow as a real one.
  testTimeout: 3_600_000,
};
