import { constants } from 'node:os';
import { StateletError } from '../../../types/errors.ts';
import type { ContainerConfig } from '../../../types/cri.ts';
import type { Signal } from './main-process.ts';

const [RTMIN, RTMAX] = [34, 64];

/** The signal that asks a container to end. Throws a StateletError of kind InvalidArgument for an unknown signal. */
export function stopSignal({ metadata, stopSignal: name = 'SIGTERM' }: ContainerConfig): Signal {
  if (Object.hasOwn(constants.signals, name)) return name as NodeJS.Signals;
  const [, from, offset = '0'] = /^SIG(RTMIN|RTMAX)(?:[+-](\d{1,2}))?$/.exec(name) ?? [];
  const number = from === 'RTMIN' ? RTMIN + Number(offset) : RTMAX - Number(offset);
  if (from !== undefined && number >= RTMIN && number <= RTMAX) return number;
  throw new StateletError(
    'InvalidArgument',
    `container "${metadata.name}": lifecycle.stopSignal ${name} is no signal of this machine`,
  );
}
