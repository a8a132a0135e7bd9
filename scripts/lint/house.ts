/** The linter's own rules of this house. Their names begin with `house/`. */
import { definePlugin, defineRule, type ESTree, type Visitor } from '@oxlint/plugins';
import { dirname, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const SRC = fileURLToPath(new URL('../../src', import.meta.url));

/**
 * The arrows of ARCHITECTURE.md: a room may import what is listed for it, itself, and src/types, which everybody may. `agent` stands for
 * its rooms. `packages` are the only packages allowed; leave it out where any will do.
 */
const AGENT = ['actors', 'machines', 'policies', 'runtime', 'cluster', 'plugins', 'sources', 'server'].map(
  (room) => `agent/${room}`,
);
const HOUSE: Readonly<Record<string, { rooms: readonly string[]; packages?: readonly string[] }>> = {
  types: { rooms: [], packages: ['@kubernetes/client-node', 'rxjs'] },
  'agent/policies': { rooms: [], packages: [] },
  'agent/machines': { rooms: ['agent/policies'], packages: ['xstate'] },
  system: { rooms: ['agent/policies'], packages: ['node:[\\w/]+', 'tinyqueue', '@bufbuild/protobuf'] },
  'agent/runtime': { rooms: ['agent/policies', 'system'] },
  'agent/cluster': { rooms: ['agent/policies', 'system'] },
  'agent/plugins': { rooms: ['agent/policies', 'system'] },
  'agent/actors': {
    rooms: ['machines', 'policies', 'runtime', 'cluster', 'plugins']
      .map((room) => `agent/${room}`)
      .concat('system'),
  },
  'agent/sources': { rooms: ['agent/policies', 'agent/cluster', 'system'] },
  'agent/server': { rooms: ['agent/policies', 'agent/runtime', 'system'] },
  'agent/config': { rooms: ['agent/policies', 'system'] },
  /** Tools: no room of the agent imports them. */
  embedded: { rooms: ['agent/policies', 'agent/runtime', 'system'] },
  'recorder/policies': { rooms: ['agent/policies'], packages: [] },
  recorder: { rooms: ['agent/machines', 'agent/policies', 'agent/actors', 'system'] },
  /** In the browser. */
  'page/browser': { rooms: [], packages: ['lit-html'] },
  'page/server': { rooms: ['agent/policies', 'agent/server', 'recorder', 'system'] },
  'page/watch': { rooms: ['agent/policies', 'agent/actors'] },
  'doctor/policies': { rooms: ['agent/policies'], packages: [] },
  doctor: { rooms: ['agent/policies', 'agent/runtime', 'agent/cluster', 'agent/config', 'system'] },
  /** Under a virtual clock and a seed, a run repeats itself only if it depends on nothing else. */
  'simulation/runtime': { rooms: ['agent/policies', 'agent/runtime/service', 'system'], packages: ['rxjs'] },
  simulation: { rooms: [...AGENT, 'system'] },
  hollow: { rooms: [...AGENT, 'simulation', 'system'] },
  'eviction-plugin-kit': { rooms: ['agent/plugins', 'agent/policies', 'system'] },
  /** The room that puts agent and tools together. */
  run: { rooms: [...AGENT, 'agent/config', 'embedded', 'recorder', 'page', 'doctor', 'system'] },
  commands: {
    rooms: ['agent/server', 'agent/config', 'agent/machines', 'agent/policies', 'agent/runtime'].concat(
      ['simulation', 'hollow', 'recorder', 'page', 'doctor', 'system'],
      ['run/daemon.ts', 'run/once'],
    ),
  },
};

const isWithin = (path: string, room: string) => path === room || path.startsWith(`${room}/`);

const IMPORTS = [
  'ImportDeclaration',
  'ImportExpression',
  'ExportNamedDeclaration',
  'ExportAllDeclaration',
  'TSImportType',
];

/** The imports that a file may have, by its innermost room. */
const arrows = defineRule({
  create(context): Visitor {
    const { filename } = context;
    const pathOf = (file: string) => relative(SRC, file).replaceAll(sep, '/');
    const room = Object.keys(HOUSE)
      .filter((name) => isWithin(pathOf(filename), name))
      .sort((a, b) => b.length - a.length)
      .at(0);
    const arrow = room === undefined ? undefined : HOUSE[room];
    if (room === undefined || arrow === undefined) return {};
    const { packages } = arrow;
    const rooms = [room, 'types', 'generated', 'version.ts', ...arrow.rooms];
    const isAllowed = (name: string) =>
      name.startsWith('.')
        ? rooms.some((other) => isWithin(pathOf(resolve(dirname(filename), name)), other))
        : (packages?.some((one) => new RegExp(`^(?:${one})(?:/|$)`, 'u').test(name)) ?? true);
    const message =
      `src/${room} may import only ${rooms.map((name) => `src/${name}`).join(', ')}` +
      (packages ? `, and of packages: ${packages.join(', ') || 'none'}.` : '.');
    const check = (node: ESTree.Node) => {
      const { source } = node as ESTree.Node & { source: ESTree.Expression | null };
      if (source?.type === 'Literal' && typeof source.value === 'string' && !isAllowed(source.value))
        context.report({ node: source, message });
    };
    return Object.fromEntries(IMPORTS.map((type) => [type, check]));
  },
});

interface Refusal {
  readonly selector: string;
  readonly message: string;
}

/** Refuses code that matches the selectors of its options. */
const syntax = defineRule({
  meta: { schema: { type: 'array', items: { type: 'object' } } },
  create(context) {
    const refusals = context.options as unknown as readonly Refusal[];
    return Object.fromEntries(
      refusals.map(({ selector, message }) => [
        selector,
        (node: ESTree.Node) => {
          context.report({ node, message });
        },
      ]),
    );
  },
});

const OUTPUTS = ['process', 'console'];

/** Refuses writes to the terminal that do not go through src/system/terminal.ts, which removes characters that act on a terminal. */
const oneOutput = defineRule({
  create(context) {
    const message = 'All output goes through src/system/terminal.ts.';
    const isAllowed = (identifier: ESTree.Node) => {
      const { parent } = identifier as ESTree.IdentifierReference;
      return (
        (identifier as ESTree.IdentifierReference).name === 'process' &&
        parent.type === 'MemberExpression' &&
        parent.object === identifier &&
        !parent.computed &&
        parent.property.type === 'Identifier' &&
        !['stdout', 'stderr'].includes(parent.property.name)
      );
    };
    return {
      'Program:exit'() {
        const { through = [], set } = context.sourceCode.scopeManager.globalScope ?? {};
        const uses = [...through, ...OUTPUTS.flatMap((name) => set?.get(name)?.references ?? [])];
        for (const { identifier } of uses) {
          if (!OUTPUTS.includes(identifier.name) || isAllowed(identifier)) continue;
          if (!identifier.parent.type.startsWith('TS')) context.report({ node: identifier, message });
        }
      },
      ImportDeclaration(node) {
        if (/^(?:node:)?(?:process|console)$/u.test(node.source.value)) context.report({ node, message });
      },
    };
  },
});

export default definePlugin({ meta: { name: 'house' }, rules: { arrows, syntax, 'one-output': oneOutput } });
