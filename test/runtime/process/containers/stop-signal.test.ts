import { expect, test } from '@jest/globals';
import { stopSignal } from '../../../../src/runtime/process/containers/stop-signal.ts';
import { containerConfig } from '../../../support/runtime-configs.ts';

const signalOf = (name?: string) =>
  stopSignal(containerConfig(['true'], name === undefined ? {} : { stopSignal: name }));

test('a container without a stop signal gets SIGTERM', () => {
  expect(signalOf()).toBe('SIGTERM');
});

test('a signal that Node knows keeps its name', () => {
  expect(signalOf('SIGUSR1')).toBe('SIGUSR1');
});

test.each([
  ['SIGRTMIN', 34],
  ['SIGRTMIN+3', 37],
  ['SIGRTMIN+30', 64],
  ['SIGRTMAX', 64],
  ['SIGRTMAX-2', 62],
  ['SIGRTMAX-30', 34],
])('the real-time signal %s is number %i', (name, number) => {
  expect(signalOf(name)).toBe(number);
});

test.each(['SIGNONE', 'TERM', 'SIGRTMIN+31', 'SIGRTMAX-31', 'toString'])('%s is refused', (name) => {
  expect(() => signalOf(name)).toThrow(
    expect.objectContaining({
      kind: 'InvalidArgument',
      message: `container "main": lifecycle.stopSignal ${name} is no signal of this machine`,
    }),
  );
});
