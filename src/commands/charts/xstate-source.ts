/** Writes a machine as source text for the Stately editor: its chart, with guards and actions by name. */
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { isAssign } from './arrows.ts';

const WIDTH = 100;
const IDENTIFIER = /^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u;

/** In place of an implementation, which is not part of the chart. */
const STAND_INS: readonly (readonly [
  kind: string,
  standIn: (name: string, implementation: unknown) => string,
])[] = [
  ['actions', (_, action) => actionText(action)],
  ['guards', guardText],
  ['delays', () => '1000'],
  ['actors', () => 'fromCallback(() => {})'],
];
const INLINE = '() => ({})';
const ON_GUARDS = '// A guard holds where the event says so: ';

/** The text can also be run. Ends with a line break. */
export function toXStateSource(machine: AnyStateMachine): string {
  const implementations = machine.implementations as unknown as Readonly<Record<string, Named | undefined>>;
  const setup = STAND_INS.map(([kind, standIn]) => standIns(kind, implementations[kind] ?? {}, standIn)).join(
    '',
  );
  const imports = ['assign', 'fromCallback', 'raise', 'setup', 'stateIn'].filter(
    (name) => name === 'setup' || setup.includes(`: ${name}(`),
  );
  return [
    `import { ${imports.join(', ')} } from 'xstate';\n`,
    ...exampleOf(machine.root as AnyStateNode).map((event) => `${ON_GUARDS}${event}`),
    `export const machine = setup({${setup === '' ? '' : `\n${setup}`}}).createMachine(${literal(machine.config, '')});\n`,
  ].join('\n');
}

type Named = Readonly<Record<string, unknown>>;

/** What an action does elsewhere is not part of the chart; what it sends to the machine itself is. */
function actionText(action: unknown): string {
  if (isAssign(action)) return 'assign({})';
  const { type, event } = (action ?? {}) as { readonly type?: unknown; readonly event?: unknown };
  return type === 'xstate.raise' ? `raise(${literal(event, '')})` : '() => {}';
}

/**
 * The source of a guard is not part of the chart. In the editor's simulator the event decides instead: a guard holds if a field of the
 * event, with the guard's name, is true. So a person can take every arrow. A guard that asks for a state of the chart stays as it is.
 */
function guardText(name: string, guard: unknown): string {
  const { stateValue } = guard as { readonly stateValue?: unknown };
  if (stateValue !== undefined) return `stateIn(${literal(stateValue, '')})`;
  return `({ event }) => ${IDENTIFIER.test(name) ? `event.${name}` : `event[${quoted(name)}]`} === true`;
}

/** The first event of the chart that a guard decides about; empty where there is none. */
function exampleOf(node: AnyStateNode): readonly string[] {
  for (const [type, transitions] of node.transitions) {
    const guard = transitions.find((one) => typeof one.guard === 'string')?.guard as string | undefined;
    if (guard !== undefined) return [`{ type: ${quoted(type)}, ${key(guard)}: true }`];
  }
  for (const inner of Object.values(node.states)) {
    const example = exampleOf(inner as AnyStateNode);
    if (example.length > 0) return example;
  }
  return [];
}

function standIns(kind: string, named: Named, standIn: (name: string, one: unknown) => string): string {
  const lines = Object.keys(named)
    .toSorted()
    .map((name) => `    ${key(name)}: ${standIn(name, named[name])},\n`);
  return lines.length === 0 ? '' : `  ${kind}: {\n${lines.join('')}  },\n`;
}

function literal(value: unknown, indent: string): string {
  if (typeof value === 'function') return INLINE;
  if (typeof value === 'string') return quoted(value);
  if (typeof value !== 'object' || value === null) return String(value);
  const inner = `${indent}  `;
  const [open, shut, parts] = Array.isArray(value)
    ? ['[', ']', value.map((item) => literal(item, inner))]
    : ['{', '}', Object.entries(value).flatMap(([name, item]) => field(name, item, inner))];
  if (parts.length === 0) return open + shut;
  const space = open === '{' ? ' ' : '';
  const line = `${open}${space}${parts.join(', ')}${space}${shut}`;
  if (!line.includes('\n') && indent.length + line.length <= WIDTH) return line;
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join('')}${indent}${shut}`;
}

function field(name: string, value: unknown, indent: string): string[] {
  if (value === undefined) return [];
  // The initial context is made from an input, which the editor does not have.
  const shown = name === 'context' && typeof value === 'function' ? {} : value;
  return [`${key(name)}: ${literal(shown, indent)}`];
}

function key(name: string): string {
  return IDENTIFIER.test(name) ? name : quoted(name);
}

function quoted(text: string): string {
  return `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
}
