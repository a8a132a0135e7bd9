import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { extractMachinesFromFile } from '@xstate/machine-extractor';
import { assign, createMachine, fromCallback, setup } from 'xstate';
import type { AnyStateMachine } from 'xstate';
import { charts } from '../../src/commands/charts.ts';
import { toMermaid } from '../../src/commands/charts/mermaid.ts';
import { toXStateSource } from '../../src/commands/charts/xstate-source.ts';
import { machines } from '../../src/machines/index.ts';

/** A machine with an example of each thing that a chart may contain. */
const lamp = setup({
  types: { context: {} as { uses: number }, events: {} as { type: 'PRESS' | 'SWAP' | 'LOOK' | 'BREAK' } },
  actions: {
    light: () => undefined,
    count: assign({ uses: ({ context }) => context.uses + 1 }),
    'say "hi"': () => undefined,
  },
  guards: { works: () => true },
}).createMachine({
  id: 'lamp',
  description: "A lamp, that's all",
  context: () => ({ uses: 0 }),
  initial: 'Off',
  on: { BREAK: { target: '.Broken', actions: 'say "hi"' } },
  states: {
    Off: {
      on: {
        PRESS: [{ guard: 'works', target: 'On', actions: ['light', 'count'] }, { target: 'Broken' }],
        SWAP: [{ guard: 'works', target: 'On', actions: ['light', 'count'] }, { target: 'Broken' }],
        LOOK: { actions: 'count' },
      },
    },
    On: {
      initial: 'Bright',
      entry: ['light'],
      states: {
        Bright: { exit: 'count', on: { SWAP: { target: 'Bright', reenter: true }, PRESS: 'Off' } },
        Off: { on: { PRESS: '#lamp.Off' } },
      },
    },
    Broken: { type: 'final' },
  },
});

describe('mermaid', () => {
  test('has nested states, shared arrows, entry and exit actions, and [else] for the last transition; no assigns', () => {
    expect(toMermaid(lamp)).toBe(`stateDiagram-v2
  state "lamp" as lamp {
    [*] --> Off
    state "Off" as Off
    Off : LOOK
    state "On" as On {
      state "all of On" as On_whole
      On_whole : entry / light
      [*] --> On_Bright
      state "Bright" as On_Bright
      state "Off" as On_Off
      On_Bright --> On_Bright : SWAP
      On_Bright --> On_Off : PRESS
    }
    state "Broken" as Broken
    Broken --> [*]
    lamp --> Broken : BREAK / say "hi"
    Off --> On : PRESS, SWAP [works] / light
    Off --> Broken : PRESS, SWAP [else]
    On_Off --> Off : PRESS
  }
`);
  });

  test('separates the regions of a parallel machine, inside a state of its own', () => {
    const machine = createMachine({
      id: 'node',
      type: 'parallel',
      states: {
        A: { initial: 'x', states: { x: {} } },
        B: { initial: 'y', states: { y: { after: { 500: 'z' } }, z: {} } },
      },
    });
    expect(toMermaid(machine)).toBe(`stateDiagram-v2
  state "node" as node {
    state "A" as A {
      [*] --> A_x
      state "x" as A_x
    }
    --
    state "B" as B {
      [*] --> B_y
      state "y" as B_y
      state "z" as B_z
      B_y --> B_z : after 500
    }
  }
`);
  });

  test('names the events of children, and transitions that need no event', () => {
    const machine = setup({
      guards: { ready: () => true },
      actors: { job: fromCallback(() => undefined) },
    }).createMachine({
      id: 'm',
      initial: 'a',
      states: {
        a: { always: { guard: 'ready', target: 'b' } },
        b: { invoke: { src: 'job', id: 'job', onDone: 'a', onError: 'a' } },
      },
    });
    expect(toMermaid(machine)).toContain('a --> b : [ready]\n');
    expect(toMermaid(machine)).toContain('b --> a : done job, error job\n');
  });
});

/** A name, or an object with the name as `type`; the parser of Stately wraps it. */
type Named = string | { readonly type: string; readonly action?: Named };
type OneOrMore<T> = T | readonly T[] | undefined;

interface DrawnTransition {
  readonly target?: string;
  readonly guard?: Named;
  /** As XState 4 calls it, and with it the parser. */
  readonly cond?: Named;
  readonly actions?: OneOrMore<Named>;
}

interface DrawnNode {
  readonly initial?: string;
  readonly type?: string;
  readonly entry?: OneOrMore<Named>;
  readonly exit?: OneOrMore<Named>;
  readonly always?: OneOrMore<DrawnTransition>;
  readonly on?: Readonly<Record<string, OneOrMore<DrawnTransition | string>>>;
  readonly states?: Readonly<Record<string, DrawnNode>>;
}

const listOf = <T>(value: OneOrMore<T>): readonly T[] => (value === undefined ? [] : ([value].flat() as T[]));
const namesOf = (value: OneOrMore<Named>): string[] => listOf(value).map(nameOf);

function nameOf(named: Named): string {
  if (typeof named === 'string') return named;
  return named.action === undefined ? named.type : nameOf(named.action);
}

/** What an editor draws of a state: how it is entered and left, and where each event leads. */
function drawnOf(node: DrawnNode): object {
  const { initial, type, entry, exit, always, on = {}, states = {} } = node;
  const transition = (one: DrawnTransition | string) => {
    const { target, guard, cond = guard, actions } = typeof one === 'string' ? { target: one } : one;
    return { target, guard: cond && nameOf(cond), actions: namesOf(actions) };
  };
  return {
    initial,
    isParallel: type === 'parallel',
    entry: namesOf(entry),
    exit: namesOf(exit),
    always: listOf(always).map(transition),
    on: Object.entries(on).map(([event, ways]) => [event, listOf(ways).map(transition)]),
    states: Object.entries(states).map(([name, inner]) => [name, drawnOf(inner)]),
  };
}

async function imported(source: string): Promise<AnyStateMachine> {
  // Inside the project, so that `xstate` is found.
  const folder = await mkdtemp(join(fileURLToPath(new URL('..', import.meta.url)), 'chart-'));
  try {
    await writeFile(join(folder, 'machine.mjs'), source);
    const module = (await import(pathToFileURL(join(folder, 'machine.mjs')).href)) as {
      machine: AnyStateMachine;
    };
    return module.machine;
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe('xstate', () => {
  const known: [string, AnyStateMachine][] = [['a lamp', lamp], ...Object.entries(machines)];

  test.each(known)('the source of %s runs, and is the same chart', async (_, machine) => {
    const copy = await imported(toXStateSource(machine));
    expect(toMermaid(copy)).toBe(toMermaid(machine));
    expect(copy.config.description).toBe(machine.config.description);
    expect(Object.keys(copy.implementations.actions)).toEqual(
      Object.keys(machine.implementations.actions).sort(),
    );
  });

  test.each(known)(
    'the source of %s is read by the parser of Stately, with each state and transition',
    (_, machine) => {
      const [parsed] = extractMachinesFromFile(toXStateSource(machine))?.machines ?? [];
      expect(drawnOf(parsed?.toConfig() as DrawnNode)).toEqual(drawnOf(machine.config as DrawnNode));
    },
  );

  test('is one literal with names only', () => {
    expect(toXStateSource(lamp)).toBe(`import { assign, setup } from 'xstate';

export const machine = setup({
  actions: {
    count: assign({}),
    light: () => {},
    'say "hi"': () => {},
  },
  guards: {
    works: () => true,
  },
}).createMachine({
  id: 'lamp',
  description: 'A lamp, that\\'s all',
  context: {},
  initial: 'Off',
  on: { BREAK: { target: '.Broken', actions: 'say "hi"' } },
  states: {
    Off: {
      on: {
        PRESS: [{ guard: 'works', target: 'On', actions: ['light', 'count'] }, { target: 'Broken' }],
        SWAP: [{ guard: 'works', target: 'On', actions: ['light', 'count'] }, { target: 'Broken' }],
        LOOK: { actions: 'count' },
      },
    },
    On: {
      initial: 'Bright',
      entry: ['light'],
      states: {
        Bright: { exit: 'count', on: { SWAP: { target: 'Bright', reenter: true }, PRESS: 'Off' } },
        Off: { on: { PRESS: '#lamp.Off' } },
      },
    },
    Broken: { type: 'final' },
  },
});
`);
  });
});

describe('statelet charts', () => {
  test('without a name lists every machine with its description', () => {
    const list = charts(undefined, 'mermaid');
    for (const [name, { config }] of Object.entries(machines)) {
      expect(list).toMatch(new RegExp(`^${name} +${String(config.description).slice(0, 10)}`, 'mu'));
    }
  });

  test('with a name prints that machine in the format asked for', () => {
    expect(charts('pod', 'mermaid')).toBe(toMermaid(machines.pod!));
    expect(charts('pod', 'xstate')).toBe(toXStateSource(machines.pod!));
  });

  test('lists the names when the name is unknown', () => {
    expect(() => charts('pods', 'mermaid')).toThrow(/"pods"; did you mean "pod"\?\nthere are: .*, pod,/);
  });
});
