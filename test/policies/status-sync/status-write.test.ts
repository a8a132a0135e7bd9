import { testVectors } from '../../support/test-vectors.ts';

testVectors('podStatusSync');
