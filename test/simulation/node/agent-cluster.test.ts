import { expect, test } from '@jest/globals';
import { drawnStrategy } from '../../../src/simulation/node/agent-cluster.ts';

test('most nodes watch what their pods refer to', () => {
  const drawn = Array.from({ length: 100 }, (_, index) => drawnStrategy(index / 100));
  const count = (strategy: string) => drawn.filter((one) => one === strategy).length;
  expect([count('Watch') > 50, count('Get') > 5, count('Cache') > 5]).toEqual([true, true, true]);
});
