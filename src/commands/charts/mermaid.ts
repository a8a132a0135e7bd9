/** Writes a machine as a Mermaid state diagram. */
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { activityLabel, type Arrow, arrowsOf } from './arrows.ts';

/** Ends with a line break. The same machine always gives the same text. */
export function toMermaid(machine: AnyStateMachine): string {
  const { root } = machine as { root: AnyStateNode };
  const arrows = descendants(root).flatMap(arrowsOf);
  // The machine itself is drawn only where it has parallel regions, or transitions that hold in all of its states.
  const framed = root.type === 'parallel' || ownLines(root).length + arrowsOf(root).length > 0;
  const body = framed ? composite(root, arrows) : inside(root, arrows);
  return ['stateDiagram-v2', ...indent(body), ''].join('\n');
}

/** Outer states before inner ones. */
function descendants(node: AnyStateNode): AnyStateNode[] {
  return [node, ...children(node).flatMap(descendants)];
}

function children(node: AnyStateNode): AnyStateNode[] {
  return Object.values(node.states as Record<string, AnyStateNode>);
}

function inside(node: AnyStateNode, arrows: readonly Arrow[]): string[] {
  const initial = node.type === 'compound' ? (node.initial.target as readonly AnyStateNode[]) : [];
  return [
    ...initial.slice(0, 1).map((state) => `[*] --> ${idOf(state)}`),
    ...children(node).flatMap((child, index) => [
      ...(node.type === 'parallel' && index > 0 ? ['--'] : []),
      ...(children(child).length > 0 ? composite(child, arrows) : leaf(child)),
    ]),
    ...arrows.filter((arrow) => home(arrow) === node).map(drawn),
  ];
}

function composite(node: AnyStateNode, arrows: readonly Arrow[]): string[] {
  return [
    `state "${node.key}" as ${idOf(node)} {`,
    ...indent([...wholeOf(node), ...inside(node, arrows)]),
    '}',
  ];
}

/** A composite state cannot have text in Mermaid: a box inside it has the actions and events of the whole state. */
function wholeOf(node: AnyStateNode): string[] {
  const lines = ownLines(node);
  return lines.length === 0 ? [] : described(`${idOf(node)}_whole`, `all of ${node.key}`, lines);
}

function leaf(node: AnyStateNode): string[] {
  return [
    ...described(idOf(node), node.type === 'history' ? 'H' : node.key, ownLines(node)),
    ...(node.type === 'final' ? [`${idOf(node)} --> [*]`] : []),
  ];
}

function described(id: string, title: string, lines: readonly string[]): string[] {
  return [`state "${title}" as ${id}`, ...lines.map((line) => `${id} : ${line}`)];
}

/** The entry and exit actions of a state, and the events that it handles without being left. */
function ownLines(node: AnyStateNode): string[] {
  // From the configuration: at run time XState adds its own actions for delays.
  const { entry, exit } = node.config as { readonly entry?: unknown; readonly exit?: unknown };
  return [
    ...activityLabel(node, 'entry', entry),
    ...activityLabel(node, 'exit', exit),
    ...arrowsOf(node).flatMap(({ target, label }) => (target === undefined ? [label] : [])),
  ];
}

/** The innermost state that contains both ends; undefined for a transition without a target. */
function home({ source, target }: Arrow): AnyStateNode | undefined {
  if (target === undefined) return undefined;
  const around = ancestors(target);
  return ancestors(source).find((state) => around.includes(state)) ?? source;
}

/** The states around a state, innermost first. */
function ancestors(node: AnyStateNode): AnyStateNode[] {
  const parent = node.parent as AnyStateNode | undefined;
  return parent === undefined ? [] : [parent, ...ancestors(parent)];
}

function drawn({ source, target, label }: Arrow): string {
  const ends = `${idOf(source)} --> ${target === undefined ? '' : idOf(target)}`;
  return label === '' ? ends : `${ends} : ${label}`;
}

/** An identifier that is unique in the diagram, also when several states have the same name. */
function idOf(node: AnyStateNode): string {
  const path = node.path.length === 0 ? [node.key] : node.path;
  return path.join('_').replace(/\W/gu, '_');
}

function indent(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}
