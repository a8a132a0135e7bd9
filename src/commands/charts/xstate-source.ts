/** Writes a machine as source text for the Stately editor: its chart, with guards and actions by name. */
import type { AnyStateMachine } from 'xstate';
import { isAssign } from './arrows.ts';

const WIDTH = 100;
const IDENTIFIER = /^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u;

/** In place of an implementation, which is not part of the chart. */
const STAND_INS = [
  ['actions', '() => {}'],
  ['guards', '() => true'],
  ['delays', '1000'],
  ['actors', 'fromCallback(() => {})'],
] as const;
const INLINE = '() => ({})';

/** The text can also be run. Ends with a line break. */
export function toXStateSource(machine: AnyStateMachine): string {
  const implementations = machine.implementations as unknown as Readonly<Record<string, Named | undefined>>;
  const setup = STAND_INS.map(([kind, standIn]) => standIns(kind, implementations[kind] ?? {}, standIn)).join(
    '',
  );
  const imports = ['assign', 'fromCallback'].filter((name) => setup.includes(`: ${name}(`));
  return [
    `import { ${[...imports, 'setup'].join(', ')} } from 'xstate';\n`,
    `export const machine = setup({${setup === '' ? '' : `\n${setup}`}}).createMachine(${literal(machine.config, '')});\n`,
  ].join('\n');
}

type Named = Readonly<Record<string, unknown>>;

/** Marks actions that only change the context. */
function standIns(kind: string, named: Named, standIn: string): string {
  const lines = Object.keys(named)
    .toSorted()
    .map((name) => `    ${key(name)}: ${isAssign(named[name]) ? 'assign({})' : standIn},\n`);
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
