/** `statelet charts`: prints a state machine as XState source or as a Mermaid diagram. */
import type { AnyStateMachine } from 'xstate';
import { machines } from '../agent/machines/index.ts';
import { didYouMean } from '../agent/policies/formats/did-you-mean.ts';
import { invalid } from '../types/errors.ts';
import { toMermaid } from './charts/mermaid.ts';
import { toXStateSource } from './charts/xstate-source.ts';
import { formatTable } from './table.ts';

const FORMATS = { xstate: toXStateSource, mermaid: toMermaid };
export type ChartFormat = keyof typeof FORMATS;

/** Returns what to print: without a name, the list of machines. Throws `InvalidArgument` for an unknown name. */
export function charts(name: string | undefined, format: ChartFormat): string {
  return name === undefined ? listOfMachines() : FORMATS[format](machineOf(name));
}

function listOfMachines(): string {
  const rows = Object.entries(machines).map(([name, { root }]) => [name, root.description ?? '']);
  return formatTable([['NAME', 'DESCRIPTION'], ...rows]);
}

/** Throws `InvalidArgument` for a name that no machine has. */
export function machineOf(name: string): AnyStateMachine {
  const machine = Object.hasOwn(machines, name) ? machines[name] : undefined;
  if (machine !== undefined) return machine;
  const names = Object.keys(machines);
  throw invalid(`no chart is called "${name}"${didYouMean(name, names)}\nthere are: ${names.join(', ')}`);
}
