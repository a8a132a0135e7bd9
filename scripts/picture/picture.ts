/** The picture of a machine, as SVG: README shows that of the pod. */
import ElkConstructor, { type ELK } from 'elkjs/lib/elk.bundled.js';
import type { AnyStateMachine } from 'xstate';
import { graphOf } from './graph.ts';
import { svgOf } from './svg.ts';

// The default export of its types is the module itself.
const Elk = ElkConstructor as unknown as new () => ELK;

/** The same machine always gives the same text. */
export async function pictureOf(machine: AnyStateMachine, title: string): Promise<string> {
  return svgOf(await new Elk().layout(graphOf(machine)), title);
}
