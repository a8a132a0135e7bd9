import all from './jest.config.js';
import { LEFT_OUT } from './scripts/jest/no-processes.ts';

/** `npm run test:quick`: the tests that start no process and no container. */
export default {
  ...all,
  testPathIgnorePatterns: [...all.testPathIgnorePatterns, ...LEFT_OUT.map((path) => `<rootDir>${path}`)],
};
