import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { extractMachinesFromFile } from '@xstate/machine-extractor';
import {
  type AnyEventObject,
  type AnyStateMachine,
  type AnyStateNode,
  type AnyTransitionDefinition,
  assign,
  createActor,
  createMachine,
  fromCallback,
  raise,
  setup,
  stateIn,
} from 'xstate';
import { getShortestPaths } from 'xstate/graph';
import { activeNodes } from '../../src/agent/actors/transitions.ts';
import { charts } from '../../src/commands/charts.ts';
import { toMermaid } from '../../src/commands/charts/mermaid.ts';
import { toXStateSource } from '../../src/commands/charts/xstate-source.ts';
import { machines } from '../../src/agent/machines/index.ts';

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

  const nodesOf = (node: AnyStateNode): readonly AnyStateNode[] => [
    node,
    ...Object.values(node.states).flatMap((inner) => nodesOf(inner as AnyStateNode)),
  ];
  const isLeaf = ({ states }: AnyStateNode) => Object.keys(states).length === 0;
  /** It is left as soon as it is entered, so that no snapshot has it. */
  const isPassing = ({ always = [] }: AnyStateNode) => always.some(({ guard }) => guard === undefined);

  const namesOfGuards = (transitions: readonly AnyTransitionDefinition[]) =>
    transitions.flatMap(({ guard }) => (guard === undefined ? [] : [nameOf(guard as Named)]));

  /**
   * The events of a printed chart, each as it is, with each of the guards that decide about it, and with one more for states that
   * are left at once by a guard of their own.
   */
  function eventsOf({ events, root }: AnyStateMachine): readonly AnyEventObject[] {
    const nodes = nodesOf(root as AnyStateNode);
    const further = [[], ...namesOfGuards(nodes.flatMap(({ always = [] }) => always)).map((name) => [name])];
    return events.flatMap((type) => {
      const own = namesOfGuards(nodes.flatMap(({ transitions }) => transitions.get(type as string) ?? []));
      const sets = [[], ...[...new Set(own)].map((name) => [name])];
      return sets.flatMap((names) =>
        further.map((more) => ({
          type,
          ...Object.fromEntries([...names, ...more].map((name) => [name, true])),
        })),
      );
    });
  }

  // The tests of test/paths hold that shortest paths over the production chart reach every state.
  test.each(known)('shortest paths over the printed source of %s reach every state', async (_, machine) => {
    const printed = await imported(toXStateSource(machine));
    const paths = getShortestPaths(printed, {
      events: eventsOf(printed),
      serializeState: ({ value }) => JSON.stringify(value),
    });
    const reached = new Set(
      paths.flatMap(({ state }) => {
        return activeNodes(state as never)
          .filter(isLeaf)
          .map(({ id }) => id);
      }),
    );
    const states = nodesOf(machine.root as AnyStateNode).filter((node) => isLeaf(node) && !isPassing(node));
    expect([...reached].toSorted()).toEqual(states.map(({ id }) => id).toSorted());
  });

  test('a pod of the printed source goes its usual way unless an event says otherwise', async () => {
    const printed = await imported(toXStateSource(machines.pod!));
    const after = (event: AnyEventObject) => {
      const actor = createActor(printed).start();
      actor.send(event);
      return (actor.getSnapshot() as { readonly value: unknown }).value;
    };
    expect(after({ type: 'SyncPodCreate' })).toEqual({ Syncing: { Starting: 'AwaitingRuntime' } });
    expect(after({ type: 'SyncPodCreate', updateEndsPod: true })).toEqual({ Terminating: 'Stopping' });
  });

  test('a guard of several words is a field of an event; events and requests of the chart itself are printed', () => {
    const machine = setup({
      actions: { tell: raise({ type: 'TOLD' }) },
      guards: { 'is it': () => true, isOn: stateIn({ B: 'on' }) },
    }).createMachine({
      id: 'm',
      type: 'parallel',
      states: {
        A: { on: { GO: [{ guard: 'is it' }, { guard: 'isOn' }] } },
        B: { initial: 'on', states: { on: {} } },
      },
    });
    const source = toXStateSource(machine);
    expect(source).toContain("import { raise, setup, stateIn } from 'xstate';");
    expect(source).toContain("    tell: raise({ type: 'TOLD' }),\n");
    expect(source).toContain("{ type: 'GO', 'is it': true }");
    expect(source).toContain("    'is it': ({ event }) => event['is it'] === true,\n");
    expect(source).toContain("    isOn: stateIn({ B: 'on' }),\n");
  });

  test('is one literal with names only', () => {
    expect(toXStateSource(lamp)).toBe(`import { assign, setup } from 'xstate';

// A guard holds where the event says so: { type: 'PRESS', works: true }
export const machine = setup({
  actions: {
    count: assign({}),
    light: () => {},
    'say "hi"': () => {},
  },
  guards: {
    works: ({ event }) => event.works === true,
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

  test('with a name prints that machine in the requested format', () => {
    expect(charts('pod', 'mermaid')).toBe(toMermaid(machines.pod!));
    expect(charts('pod', 'xstate')).toBe(toXStateSource(machines.pod!));
  });

  test('lists the names when the name is unknown', () => {
    expect(() => charts('pods', 'mermaid')).toThrow(/"pods"; did you mean "pod"\?\nthere are: .*, pod,/);
  });
});
