/** `statelet charts`: prints a state machine as XState source or as a Mermaid diagram. */
import { machines } from '../machines/index.ts';
import { machineOf } from './charts/machine-of.ts';
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
