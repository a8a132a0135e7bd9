/**
 * The charts of the page: every machine, laid out, with its states, the ways between them, and their sentences. They are made from the code, and
 * cannot differ from it.
 */
import ElkConstructor, {
  type ELK,
  type ElkExtendedEdge,
  type ElkLabel,
  type ElkNode,
} from 'elkjs/lib/elk.bundled.js';
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { arrowsOf } from '../../src/commands/charts/arrows.ts';
import { stateSentence } from '../../src/agent/policies/why/state-sentences.ts';
import type { DrawnChart, DrawnEdge, DrawnState } from '../../src/types/page-views.ts';
import { graphOf, isAnyMark, isInitialDot, LABEL_PX } from './graph.ts';

// The default export of its types is the module itself.
const Elk = ElkConstructor as unknown as new () => ELK;
const LINE_HEIGHT = 1.3;

/** The same machines always give the same charts. */
export async function pageCharts(
  machines: Readonly<Record<string, AnyStateMachine>>,
): Promise<readonly DrawnChart[]> {
  const charts: DrawnChart[] = [];
  for (const [name, machine] of Object.entries(machines)) charts.push(await drawn(name, machine));
  return charts;
}

async function drawn(name: string, machine: AnyStateMachine): Promise<DrawnChart> {
  const { root } = machine as { root: AnyStateNode };
  const graph = await new Elk().layout(graphOf(machine));
  const { width = 0, height = 0, edges = [] } = graph;
  const boxes = new Map([graph, ...descendants(graph)].map((node) => [node.id, node]));
  const states = withDescendants(root);
  return {
    name,
    about: root.description ?? '',
    width: Math.ceil(width),
    height: Math.ceil(height),
    states: states.flatMap((state) => drawnState(name, state, boxes)),
    dots: [...boxes.values()].filter(isInitialDot).map(({ x = 0, y = 0, width: across = 0 }) => ({
      x: Math.round(x + across / 2),
      y: Math.round(y + across / 2),
      radius: across / 2,
    })),
    anys: [...boxes.values()].filter(isAnyMark).map(placeOf),
    edges: edges.map((edge) => drawnEdge(edge, root)),
    leads: Object.fromEntries(states.map((state) => [pathOf(state), leadsFrom(state)])),
  };
}

function withDescendants(state: AnyStateNode): AnyStateNode[] {
  return [state, ...inside(state).flatMap(withDescendants)];
}

function inside(state: AnyStateNode): AnyStateNode[] {
  return Object.values(state.states as Record<string, AnyStateNode>);
}

function descendants(node: ElkNode): ElkNode[] {
  return (node.children ?? []).flatMap((child) => [child, ...descendants(child)]);
}

/** `Syncing.Settled` of `pod.Syncing.Settled`. */
function pathOf({ path }: AnyStateNode): string {
  return path.join('.');
}

function drawnState(
  chart: string,
  state: AnyStateNode,
  boxes: ReadonlyMap<string, ElkNode>,
): readonly DrawnState[] {
  const box = boxes.get(state.id);
  if (box === undefined) throw new Error(`${state.id} has no place in its picture`);
  const id = pathOf(state);
  const says = stateSentence(chart, id);
  const about = id === '' ? undefined : state.description;
  const first = inside(state).length === 0 ? [] : firstOf(state).map(pathOf);
  return [
    {
      id,
      title: id === '' ? chart : state.key,
      ...placeOf(box),
      first,
      ...(says !== undefined && { says }),
      ...(about !== undefined && { about }),
    },
  ];
}

function placeOf({ x = 0, y = 0, width = 0, height = 0 }: ElkNode) {
  return { x: Math.round(x), y: Math.round(y), width: Math.ceil(width), height: Math.ceil(height) };
}

function firstOf(state: AnyStateNode): readonly AnyStateNode[] {
  return state.type === 'parallel' ? inside(state) : (state.initial.target as readonly AnyStateNode[]);
}

function leadsFrom(state: AnyStateNode): readonly string[] {
  return [...new Set(arrowsOf(state).flatMap(({ target }) => (target ? [pathOf(target)] : [])))];
}

function drawnEdge(
  { sources, targets, sections = [], labels = [] }: ElkExtendedEdge,
  root: AnyStateNode,
): DrawnEdge {
  const path = sections.map(({ startPoint, bendPoints = [], endPoint }) =>
    [startPoint, ...bendPoints, endPoint]
      .map(({ x, y }, index) => `${index === 0 ? 'M' : 'L'}${Math.round(x)} ${Math.round(y)}`)
      .join(''),
  );
  return {
    from: stateOf(sources[0] ?? '', root),
    to: stateOf(targets[0] ?? '', root),
    path: path.join(''),
    labels: labels.flatMap(rows),
  };
}

/** The marks in a state count as that state. */
function stateOf(id: string, root: AnyStateNode): string {
  const bare = id.replace(/^(?:initial|any):/u, '');
  return bare === root.id ? '' : bare.slice(root.id.length + 1);
}

function rows({ text = '', x = 0, y = 0 }: ElkLabel): DrawnEdge['labels'] {
  return text
    .split('\n')
    .filter((row) => row !== '')
    .map((row, index) => ({
      x: Math.round(x),
      y: Math.round(y + LABEL_PX + index * LABEL_PX * LINE_HEIGHT),
      text: row,
    }));
}
