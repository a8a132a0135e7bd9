import { defineConfig } from 'oxlint';

const errors = (scope: string, names: string) =>
  Object.fromEntries(
    names
      .trim()
      .split(/\s+/u)
      .map((name) => [`${scope}/${name}`, 'error' as const]),
  );

/** Beside the category `correctness`: what ESLint recommends. */
const ESLINT = errors(
  'eslint',
  `
  no-array-constructor no-case-declarations no-empty no-fallthrough
  no-prototype-builtins no-regex-spaces no-unexpected-multiline no-useless-assignment
  no-useless-constructor preserve-caught-error
  `,
);

/** Beside it: what typescript-eslint calls strict and stylistic, with types. */
const TYPESCRIPT = errors(
  'typescript',
  `
  adjacent-overload-signatures array-type ban-ts-comment ban-tslint-comment
  class-literal-property-style consistent-generic-constructors consistent-indexed-object-style
  consistent-type-assertions dot-notation no-confusing-non-null-assertion no-deprecated
  no-dynamic-delete no-empty-object-type no-explicit-any no-extraneous-class
  no-generated-empty-object-type no-inferrable-types no-invalid-void-type no-misused-promises
  no-mixed-enums no-namespace no-non-null-asserted-nullish-coalescing no-non-null-assertion
  no-require-imports no-unnecessary-boolean-literal-compare no-unnecessary-condition
  no-unnecessary-template-expression no-unnecessary-type-arguments no-unnecessary-type-assertion
  no-unnecessary-type-constraint no-unnecessary-type-conversion no-unnecessary-type-parameters
  no-unsafe-argument no-unsafe-assignment no-unsafe-call no-unsafe-enum-assignment
  no-unsafe-enum-comparison no-unsafe-function-type no-unsafe-member-access no-unsafe-return
  non-nullable-type-assertion-style only-throw-error prefer-find prefer-for-of prefer-function-type
  prefer-includes prefer-literal-enum-member prefer-nullish-coalescing prefer-optional-chain
  prefer-promise-reject-errors prefer-reduce-type-parameter prefer-regexp-exec prefer-return-this-type
  prefer-string-starts-ends-with related-getter-setter-pairs require-await restrict-plus-operands
  unified-signatures use-unknown-in-catch-callback-variable
  `,
);

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

export default defineConfig({
  options: { typeAware: true, typeCheck: true, denyWarnings: true },
  plugins: ['typescript', 'import'],
  // Plugins in JavaScript may still change with each version of oxlint: it is pinned.
  jsPlugins: ['./scripts/lint/house.ts', 'eslint-plugin-regexp'],
  categories: { correctness: 'error' },
  env: { node: true },
  ignorePatterns: ['dist/**', 'coverage/**', '.statelet/**', 'src/generated/**'],
  rules: ESLINT,
  overrides: [
    {
      files: ['**/*.ts'],
      rules: {
        ...TYPESCRIPT,
        'typescript/consistent-type-imports': ['error', { fixStyle: 'separate-type-imports' }],
        'typescript/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
        'typescript/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
        'typescript/return-await': ['error', 'error-handling-correctness-only'],
        'typescript/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
        // Texts are sorted by their characters, which needs no function.
        'typescript/require-array-sort-compare': 'off',
        'import/no-cycle': 'error',
        'import/no-duplicates': ['error', { preferInline: true }],
        ...errors('eslint', 'no-empty-function no-var prefer-const prefer-rest-params prefer-spread'),
        'eslint/eqeqeq': ['error', 'always', { null: 'ignore' }],
      },
    },
    {
      files: ['src/**/*.ts', 'examples/**/*.ts'],
      rules: {
        'eslint/max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
      },
    },
    {
      // Texts of pods, clients and runtimes are hostile and long: quadratic time for one of them stops everything else.
      files: ['src/**/*.ts'],
      rules: {
        'house/arrows': 'error',
        'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
        'regexp/no-super-linear-move': ['error', { report: 'potential', ignorePartial: false }],
      },
    },
    {
      files: ['src/**/*.ts'],
      excludeFiles: ['src/system/files/**'],
      rules: { 'house/syntax': ['error', REMOVALS, FOLDERS, PRIVATE_MEMBERS] },
    },
    {
      files: ['src/agent/actors/**/*.ts'],
      excludeFiles: ['src/agent/actors/agent-actor.ts', 'src/agent/actors/pods/pod-registry.ts'],
      rules: { 'house/syntax': ['error', REMOVALS, FOLDERS, PRIVATE_MEMBERS, UNLISTED_ACTORS] },
    },
    {
      files: FILES_OF_PODS,
      rules: { 'eslint/no-restricted-imports': ['error', { paths: restrictedFileCalls }] },
    },
    {
      files: ['src/**/*.ts'],
      excludeFiles: ['src/system/terminal.ts', 'src/page/browser/**'],
      rules: { 'house/one-output': 'error' },
    },
    {
      // Under a virtual clock and a seed, a run repeats itself only where nothing comes from elsewhere.
      files: ['src/simulation/runtime/**/*.ts'],
      rules: {
        'eslint/no-restricted-globals': [
          'error',
          ...['Date', ...IMPURE_GLOBALS.filter((name) => !['Buffer', 'queueMicrotask'].includes(name))].map(
            (name) => ({
              name,
              message: 'The simulated runtime has a clock and a source of chance: use those.',
            }),
          ),
        ],
        'eslint/no-restricted-properties': [
          'error',
          { object: 'Math', property: 'random', message: 'Chance comes from the seed: use `Random`.' },
        ],
      },
    },
    {
      files: ['src/agent/machines/**/*.ts', 'src/**/policies/**/*.ts'],
      rules: {
        'eslint/no-restricted-globals': [
          'error',
          ...IMPURE_GLOBALS.map((name) => ({ name, message: 'Machines and policies are pure: pass it in.' })),
        ],
        'eslint/no-restricted-properties': [
          'error',
          {
            object: 'Math',
            property: 'random',
            message: 'Machines and policies are pure: pass randomness in.',
          },
        ],
        'house/syntax': ['error', ...PURE_DATE],
      },
    },
    {
      files: ['src/agent/machines/**/*.ts'],
      rules: {
        'house/syntax': [
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
      rules: { 'typescript/no-unsafe-assignment': 'off', 'typescript/no-non-null-assertion': 'off' },
    },
    {
      // The double of the API server reads objects of any kind, as clients have sent them.
      files: ['test/support/api-server/**/*.ts'],
      rules: {
        'typescript/no-explicit-any': 'off',
        'typescript/no-unsafe-argument': 'off',
        'typescript/no-unsafe-call': 'off',
        'typescript/no-unsafe-member-access': 'off',
        'typescript/no-unsafe-return': 'off',
        'typescript/no-unnecessary-condition': 'off',
        'typescript/no-base-to-string': 'off',
      },
    },
  ],
});
