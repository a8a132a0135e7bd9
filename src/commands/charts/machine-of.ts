import type { AnyStateMachine } from 'xstate';
import { machines } from '../../machines/index.ts';
import { didYouMean } from '../../policies/formats/did-you-mean.ts';
import { StateletError } from '../../types/errors.ts';

/** Throws `InvalidArgument` for a name that no machine has. */
export function machineOf(name: string): AnyStateMachine {
  const machine = Object.hasOwn(machines, name) ? machines[name] : undefined;
  if (machine !== undefined) return machine;
  const names = Object.keys(machines);
  throw new StateletError(
    'InvalidArgument',
    `no chart is called "${name}"${didYouMean(name, names)}\nthere are: ${names.join(', ')}`,
  );
}
