import { expect, test } from '@jest/globals';
import { refusedValues } from '../../src/config/refused-values.ts';

test('managers of resources that are not there are refused, each by its field', () => {
  const asking = {
    cpuManagerPolicy: 'static',
    memoryManagerPolicy: 'Static',
    topologyManagerPolicy: 'best-effort',
  };
  expect(refusedValues(asking)).toEqual([
    'cpuManagerPolicy: must be "none": there is no CPU manager (got "static")',
    'memoryManagerPolicy: must be "None": there is no memory manager (got "Static")',
    'topologyManagerPolicy: must be "none": there is no topology manager (got "best-effort")',
  ]);
});

test('the defaults are accepted, given or not', () => {
  const defaults = { cpuManagerPolicy: 'none', memoryManagerPolicy: 'None', topologyManagerPolicy: '' };
  expect(refusedValues(defaults)).toEqual([]);
  expect(refusedValues({})).toEqual([]);
});

test('the mode that ends when pods run is refused, as by the kubelet, with the command that is meant', () => {
  expect(refusedValues({ runOnce: true })).toEqual([
    'runOnce: must be false: there is no daemon that ends when its pods run, but the command "statelet run-once" (got true)',
  ]);
  expect(refusedValues({ runOnce: false })).toEqual([]);
});
