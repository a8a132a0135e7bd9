/**
 * A machine as the graph that is laid out: a node for each state, with its inner states inside, and an edge for all ways between two states. To stay
 * readable it has neither guards nor actions: docs/charts.md has both.
 */
import type { ElkExtendedEdge, ElkLabel, ElkNode, LayoutOptions } from 'elkjs/lib/elk.bundled.js';
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { arrowsOf } from '../../src/commands/charts/arrows.ts';

export const TITLE_PX = 14;
export const LABEL_PX = 11;
/** The width of a letter of the fixed-width fonts, as part of the font size. */
const LETTER_WIDTH = 0.61;
const LINE_HEIGHT = 1.3;
const LABEL_LETTERS_MAX = 24;
const INITIAL = 'initial:';
const ANY = 'any:';
const ANY_TITLE = 'any state';

const LAYERS: LayoutOptions = {
  'elk.algorithm': 'layered',
  'elk.direction': 'DOWN',
  'elk.edgeRouting': 'ORTHOGONAL',
  // The order of the machine: what comes first in it is on top.
  'elk.layered.cycleBreaking.strategy': 'MODEL_ORDER',
  'elk.layered.spacing.nodeNodeBetweenLayers': '30',
  'elk.spacing.nodeNode': '24',
  'elk.spacing.edgeEdge': '12',
  'elk.spacing.edgeNode': '14',
  'elk.spacing.edgeLabel': '3',
};
const WHOLE: LayoutOptions = {
  ...LAYERS,
  'elk.randomSeed': '1',
  'elk.json.edgeCoords': 'ROOT',
  'elk.json.shapeCoords': 'ROOT',
  'elk.padding': '[top=16,left=16,bottom=16,right=16]',
};
const COMPOSITE: LayoutOptions = {
  ...LAYERS,
  'elk.padding': `[top=${TITLE_PX * 2 + 10},left=16,bottom=16,right=16]`,
};

export function graphOf(machine: AnyStateMachine): ElkNode {
  const { root } = machine as { root: AnyStateNode };
  const states = [root, ...descendants(root)];
  return {
    id: root.id,
    layoutOptions: WHOLE,
    children: inside(root),
    edges: [...states.flatMap(initialEdge), ...edgesBetween(states)],
  };
}

/** Whether the node is the dot before an initial state. */
export function isInitialDot({ id }: ElkNode): boolean {
  return id.startsWith(INITIAL);
}

/** Whether the node is the mark at the start of ways from all of a state to a part of it. */
export function isAnyMark({ id }: ElkNode): boolean {
  return id.startsWith(ANY);
}

function children(state: AnyStateNode): AnyStateNode[] {
  return Object.values(state.states as Record<string, AnyStateNode>);
}

function descendants(state: AnyStateNode): AnyStateNode[] {
  return children(state).flatMap((child) => [child, ...descendants(child)]);
}

function inside(state: AnyStateNode): ElkNode[] {
  const dot: ElkNode = { id: INITIAL + state.id, width: 10, height: 10 };
  const anyTitle = text(ANY_TITLE, LABEL_PX);
  const any: ElkNode = {
    id: ANY + state.id,
    labels: [anyTitle],
    width: (anyTitle.width ?? 0) + 18,
    height: 18,
  };
  const leadsInside = waysFrom(state).some(({ source }) => source === any.id);
  return [
    ...(state.type === 'compound' ? [dot] : []),
    ...(leadsInside ? [any] : []),
    ...children(state).map(node),
  ];
}

function node(state: AnyStateNode): ElkNode {
  const title = text(state.key, TITLE_PX);
  const width = (title.width ?? 0) + 24;
  if (children(state).length === 0) return { id: state.id, labels: [title], width, height: TITLE_PX + 18 };
  return { id: state.id, labels: [title], layoutOptions: COMPOSITE, children: inside(state) };
}

function initialEdge(state: AnyStateNode): ElkExtendedEdge[] {
  const [initial] = state.type === 'compound' ? (state.initial.target as readonly AnyStateNode[]) : [];
  if (initial === undefined) return [];
  return [{ id: `first of ${state.id}`, sources: [INITIAL + state.id], targets: [initial.id] }];
}

interface Way {
  readonly source: string;
  readonly target: string;
  readonly events: readonly string[];
}

/** One edge for all ways from one state to another. */
function edgesBetween(states: readonly AnyStateNode[]): ElkExtendedEdge[] {
  const ways = states.flatMap(waysFrom);
  return [...Map.groupBy(ways, ({ source, target }) => `${source} to ${target}`)].flatMap(([id, same]) => {
    const [{ source, target }] = same as [Way];
    const events = [...new Set(same.flatMap((way) => way.events))];
    return [{ id, sources: [source], targets: [target], labels: [label(lines(events))] }];
  });
}

/** A transition that stays in its state is not drawn. */
function waysFrom(state: AnyStateNode): Way[] {
  return arrowsOf(state).flatMap(({ target, label: text }) => {
    if (target === undefined || target === state) return [];
    const [source, aim] = sides(state, target);
    return [{ source, target: aim, events: eventsOf(text) }];
  });
}

/**
 * A way out of a composite state is drawn from its frame, and a way into one to its frame. A way from a composite state to a part of it is drawn from
 * a mark inside, and a way back to the state itself to its initial dot.
 */
function sides(source: AnyStateNode, target: AnyStateNode): [source: string, target: string] {
  const around = path(target);
  const inner = path(source);
  const parting = inner.findIndex((state, depth) => state !== around[depth]);
  if (parting < 0) return [ANY + source.id, (around[inner.length] ?? target).id];
  const [from, to] = [inner[parting] ?? source, around[parting]];
  return [from.id, to === undefined ? INITIAL + target.id : to.id];
}

/** From the outermost state inwards. */
function path(state: AnyStateNode): AnyStateNode[] {
  const parent = state.parent as AnyStateNode | undefined;
  return parent === undefined ? [state] : [...path(parent), state];
}

/** `SyncPodKill, SyncPodUpdate [isShorter] / abortStop` without guard and actions. */
function eventsOf(text: string): string[] {
  return text
    .replace(/(?:^| )[[/] ?.*$/u, '')
    .split(', ')
    .filter((event) => event !== '');
}

/** As many events in a line as keep the picture narrow. */
function lines(events: readonly string[]): string[] {
  return events.reduce<string[]>((done, event) => {
    const together = [...done.slice(-1), event].join(', ');
    return together.length <= LABEL_LETTERS_MAX ? [...done.slice(0, -1), together] : [...done, event];
  }, []);
}

function label(rows: readonly string[]): ElkLabel {
  const longest = Math.max(0, ...rows.map((row) => row.length));
  return {
    text: rows.join('\n'),
    width: Math.ceil(longest * LABEL_PX * LETTER_WIDTH),
    height: Math.ceil(rows.length * LABEL_PX * LINE_HEIGHT),
  };
}

function text(content: string, px: number): ElkLabel {
  return { text: content, width: Math.ceil(content.length * px * LETTER_WIDTH), height: px };
}
