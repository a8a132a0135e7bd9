import js from '@eslint/js';
import importX from 'eslint-plugin-import-x';
import regexp from 'eslint-plugin-regexp';
import tseslint from 'typescript-eslint';

/**
 * The arrows of ARCHITECTURE.md: a room may import what is listed for it, itself, and src/types, which everybody may. `agent` stands for
 * its rooms. `packages` are the only packages allowed; leave it out where any will do.
 */
const AGENT = ['actors', 'machines', 'policies', 'runtime', 'cluster', 'plugins', 'sources', 'server'].map(
  (room) => `agent/${room}`,
);
const HOUSE = {
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
  simulation: { rooms: [...AGENT, 'system'] },
  hollow: { rooms: [...AGENT, 'simulation', 'system'] },
  'eviction-plugin-kit': { rooms: ['agent/plugins', 'agent/policies', 'system'] },
  /** What puts agent and tools together. */
  run: { rooms: [...AGENT, 'agent/config', 'embedded', 'recorder', 'page', 'doctor', 'system'] },
  commands: {
    rooms: ['agent/server', 'agent/config', 'agent/machines', 'agent/policies', 'agent/runtime'].concat(
      ['simulation', 'hollow', 'recorder', 'page', 'doctor', 'system'],
      ['run/daemon.ts', 'run/once'],
    ),
  },
};
const ROOMS = [...Object.keys(HOUSE), 'main.ts', 'run/daemon', 'run/daemon.ts', 'run/once'];
const isWithin = (room, other) => room === other || room.startsWith(`${other}/`);

const IMPURE_GLOBALS = ['performance', 'setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask'].concat([
  'process',
  'console',
  'fetch',
  'Buffer',
  'crypto',
]);

/** What of Date reads neither the clock nor the machine's time zone. */
const PURE_DATE = [
  {
    selector:
      "Identifier[name='Date']:not(NewExpression[arguments.length=1] > Identifier.callee, MemberExpression[property.name=/^(UTC|parse)$/] > Identifier.object)",
    message:
      'Machines and policies are pure. Of Date they may use only new Date(ms), Date.UTC and Date.parse.',
  },
  {
    selector:
      'MemberExpression[property.name=/^([gs]et(Date|Day|FullYear|Hours|Milliseconds|Minutes|Month|Seconds)|getTimezoneOffset|to(Date|Time)String|toLocale(Date|Time)?String)$/]',
    message:
      "Machines and policies are pure: this reads the machine's time zone or language. Use the UTC form.",
  },
];

const REMOVALS = {
  selector:
    'CallExpression:matches([callee.name=/^(rm|rmdir|cp)(Sync)?$/], [callee.property.name=/^(rm|rmdir|cp)(Sync)?$/]) Property[key.name="recursive"]',
  message:
    'This walks by paths and follows what becomes a link meanwhile: use src/system/files/remove-tree.ts.',
};

const PRIVATE_MEMBERS = {
  selector:
    ':matches(MemberExpression[property.name=/^_[a-z]/]:not([property.name="_transitions"]), ObjectPattern > Property[key.name=/^_[a-z]/]:not([key.name="_transitions"]))',
  message:
    'This is private to a library: use its public means. (XState shows `_transitions` to each inspector.)',
};

const UNLISTED_ACTORS = {
  selector: "ImportDeclaration[source.value='xstate'] ImportSpecifier[imported.name='createActor']",
  message: 'Use `createActor` of src/agent/actors/agent-actor.ts, so that the page can find the actor.',
};

const FOLDERS = {
  selector:
    'CallExpression:matches([callee.name=/^mkdir(Sync)?$/], [callee.property.name=/^mkdir(Sync)?$/]) Property[key.name="recursive"]',
  message: 'This never ends in /proc: use src/system/make-folder.ts.',
};

/** Rooms with files that pods own, can write or can replace. */
const FILES_OF_PODS = [
  'src/agent/runtime/logs/**/*.ts',
  'src/agent/runtime/pods/**/*.ts',
  'src/embedded/containers/**/*.ts',
  'src/embedded/streams/**/*.ts',
  'src/agent/runtime/stats/disks/**/*.ts',
  'src/agent/runtime/volumes/**/*.ts',
];

const BY_PATH = ['chmod', 'chown', 'cp', 'copyFile', 'appendFile', 'truncate', 'utimes', 'writeFile'].flatMap(
  (name) => [name, `${name}Sync`],
);

/** These follow a link that a pod has put at the path, or wait at a pipe. */
const restrictedFileCalls = ['node:fs', 'node:fs/promises'].map((name) => ({
  name,
  importNames: [...BY_PATH, 'createReadStream', 'createWriteStream', 'readFile', 'opendir'],
  message:
    'By its path a file of a pod may be another one by now. Use what src/system/files has, and flags with O_NOFOLLOW and O_NONBLOCK.',
}));

const arrows = Object.entries(HOUSE).map(([room, { rooms, packages }]) => {
  const allowed = [room, 'types', ...rooms];
  const isAllowed = (other) => allowed.some((one) => isWithin(other, one));
  /** Nested rooms have rules of their own. */
  const inner = ROOMS.filter((other) => other !== room && isWithin(other, room));
  return {
    files: [`src/${room}/**/*.ts`],
    ignores: inner.filter((other) => other in HOUSE).map((other) => `src/${other}/**`),
    rules: {
      'import-x/no-restricted-paths': [
        'error',
        {
          zones: ROOMS.filter(
            (other) => !isAllowed(other) && !allowed.some((one) => isWithin(one, other)),
          ).map((other) => ({
            target: `./src/${room}`,
            from: `./src/${other}`,
            message: `src/${room} may import only: ${[...allowed].map((name) => `src/${name}`).join(', ')}.`,
          })),
        },
      ],
      ...(packages && {
        'no-restricted-imports': [
          'error',
          {
            patterns: [
              {
                // Anything that is neither relative nor one of the packages named.
                regex: `^(?!\\.{1,2}/)(?!(?:${packages.join('|') || '$^'})(?:/|$))`,
                message: `src/${room} may import no package but: ${packages.join(', ') || 'none'}.`,
              },
            ],
          },
        ],
      }),
    },
  };
});

/** What writes to the terminal past src/system/terminal.ts, which keeps characters that act on a terminal out of it. */
const oneOutput = {
  create(context) {
    const message = 'All output goes through src/system/terminal.ts.';
    const isAllowed = ({ parent, ...identifier }) =>
      identifier.name === 'process' &&
      parent.type === 'MemberExpression' &&
      parent.object.range === identifier.range &&
      !parent.computed &&
      !['stdout', 'stderr'].includes(parent.property.name);
    return {
      'Program:exit'() {
        const { through, set } = context.sourceCode.scopeManager.globalScope;
        const names = ['process', 'console'];
        const uses = [...through, ...names.flatMap((name) => set.get(name)?.references ?? [])];
        for (const { identifier, isValueReference } of uses)
          if (isValueReference && names.includes(identifier.name) && !isAllowed(identifier))
            context.report({ node: identifier, message });
      },
      'ImportDeclaration[source.value=/^(node:)?(process|console)$/]'(node) {
        context.report({ node, message });
      },
    };
  },
};

export default tseslint.config(
  { ignores: ['dist/**', 'coverage/**', 'node_modules/**', '.statelet/**', 'src/generated/**'] },
  js.configs.recommended,
  { files: ['**/*.js'], languageOptions: { globals: { process: 'readonly', console: 'readonly' } } },
  {
    files: ['**/*.cjs'],
    languageOptions: { sourceType: 'commonjs', globals: { require: 'readonly', module: 'writable' } },
  },
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.strictTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    plugins: { 'import-x': importX },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'separate-type-imports' }],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/consistent-type-definitions': 'off',
      'import-x/no-cycle': 'error',
      'import-x/no-duplicates': ['error', { 'prefer-inline': true }],
      'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
      eqeqeq: ['error', 'always', { null: 'ignore' }],
    },
  },
  ...arrows,
  {
    files: ['src/**/*.ts'],
    ignores: ['src/system/files/**'],
    rules: { 'no-restricted-syntax': ['error', REMOVALS, FOLDERS, PRIVATE_MEMBERS] },
  },
  {
    files: ['src/agent/actors/**/*.ts'],
    ignores: ['src/agent/actors/agent-actor.ts', 'src/agent/actors/pods/pod-registry.ts'],
    rules: { 'no-restricted-syntax': ['error', REMOVALS, FOLDERS, PRIVATE_MEMBERS, UNLISTED_ACTORS] },
  },
  {
    files: FILES_OF_PODS,
    rules: { 'no-restricted-imports': ['error', { paths: restrictedFileCalls }] },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/system/terminal.ts', 'src/page/browser/**'],
    plugins: { statelet: { rules: { 'one-output': oneOutput } } },
    rules: { 'statelet/one-output': 'error' },
  },
  {
    // Texts of pods, clients and runtimes are hostile and long: quadratic time for one of them stops everything else.
    files: ['src/**/*.ts'],
    plugins: { regexp },
    rules: {
      'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
      'regexp/no-super-linear-move': ['error', { report: 'potential', ignorePartial: false }],
    },
  },
  {
    // Under a virtual clock and a seed, a run repeats itself only where nothing comes from elsewhere.
    files: ['src/simulation/runtime/**/*.ts'],
    rules: {
      'no-restricted-globals': [
        'error',
        ...['Date', ...IMPURE_GLOBALS.filter((name) => !['Buffer', 'queueMicrotask'].includes(name))].map(
          (name) => ({
            name,
            message: 'The simulated runtime has a clock and a source of chance: use those.',
          }),
        ),
      ],
      'no-restricted-properties': [
        'error',
        { object: 'Math', property: 'random', message: 'Chance comes from the seed: use `Random`.' },
      ],
      'no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: '^(?:node:|\\.\\./(?!\\.\\./)|\\.\\./\\.\\./agent/runtime/(?!service/))',
              message:
                'The simulated runtime does no I/O: of src/agent/runtime it may import service/ alone.',
            },
          ],
        },
      ],
    },
  },
  {
    files: ['src/agent/machines/**/*.ts', 'src/**/policies/**/*.ts'],
    rules: {
      'no-restricted-globals': [
        'error',
        ...IMPURE_GLOBALS.map((name) => ({ name, message: 'Machines and policies are pure: pass it in.' })),
      ],
      'no-restricted-properties': [
        'error',
        {
          object: 'Math',
          property: 'random',
          message: 'Machines and policies are pure: pass randomness in.',
        },
      ],
      'no-restricted-syntax': ['error', ...PURE_DATE],
    },
  },
  {
    files: ['src/agent/machines/**/*.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        ...PURE_DATE,
        {
          selector:
            "CallExpression[callee.property.name='createMachine'] > ObjectExpression :matches(ArrowFunctionExpression, FunctionExpression)",
          message: 'No inline functions in a chart: name it in setup().',
        },
        {
          selector:
            "CallExpression[callee.property.name='createMachine'] > ObjectExpression :matches(SpreadElement, CallExpression, Property[computed=true])",
          message: 'A chart is one literal: no spreads, calls or computed keys.',
        },
      ],
    },
  },
  {
    files: ['test/**/*.ts', 'scripts/**/*.ts', 'bench/**/*.ts'],
    rules: {
      'max-lines-per-function': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  {
    // The double of the API server reads objects of any kind, as clients have sent them.
    files: ['test/support/api-server/**/*.ts'],
    rules: Object.fromEntries(
      [
        'no-explicit-any',
        'no-unsafe-argument',
        'no-unsafe-call',
        'no-unsafe-member-access',
        'no-unsafe-return',
      ]
        .concat(['no-unsafe-type-assertion', 'no-unnecessary-condition', 'no-base-to-string'])
        .map((name) => [`@typescript-eslint/${name}`, 'off']),
    ),
  },
);
