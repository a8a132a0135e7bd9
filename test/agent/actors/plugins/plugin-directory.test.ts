import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createActor, createMachine } from 'xstate';
import { settled } from '../../../../src/simulation/node/virtual-clock.ts';
import { RSS_INFO } from '../../../support/fake-registration.ts';
import { FakePlugin } from '../../../support/eviction-plugins.ts';
import { ACTING, HOSTILE } from '../../../support/hostile-text.ts';
import { PluginBed } from '../../../support/plugin-bed.ts';
import { recordingLogger } from '../../../support/recording-logger.ts';

const [A, B] = ['/registry/a.sock', '/registry/b.sock'];
const MINUTE_MS = 60_000;
/** So many registrations begin at once. */
const AT_ONCE = 8;

let bed: PluginBed;

beforeEach(() => {
  bed = new PluginBed();
});

afterEach(async () => {
  await bed.plugins.stop();
  expect([bed.held, bed.connected]).toEqual([0, []]);
});

const messages = () => bed.lines.map(({ level, message }) => `${level}: ${message}`);

describe('a built-in plugin', () => {
  test('serves from the start, before all others and in the order of the names', async () => {
    bed = new PluginBed({ builtIn: [new FakePlugin('y'), new FakePlugin('x')] });
    expect([bed.asked(), bed.states()]).toEqual([
      ['x', 'y'],
      ['x Serving', 'y Serving'],
    ]);
    await bed.register(A, 'a');
    expect(bed.asked()).toEqual(['x', 'y', 'a']);
    expect(bed.plugins.plugins().map(({ origin }) => origin)).toEqual(['built-in', 'built-in', A]);
  });

  test('keeps its name: another plugin with that name is refused with a reason, and asked again', async () => {
    bed = new PluginBed({ builtIn: [new FakePlugin('rss')] });
    bed.appear(A);
    bed.at(A).answer();
    await settled();
    bed.at(A).hear();
    await settled();
    expect(bed.at(A).told).toEqual([
      {
        registered: false,
        error:
          'RegisterPlugin error -- plugin validation failed with err: "rss" is the name of a built-in plugin',
      },
    ]);
    expect([bed.asked(), bed.states()]).toEqual([['rss'], ['rss Serving', 'rss Registering']]);
    expect(bed.clock.nextInMs).toBe(500);
  });

  test('moves its chart by its answers like any other', () => {
    bed = new PluginBed({ builtIn: [new FakePlugin('x')] });
    bed.hosted('built-in').failed('no figures');
    expect(bed.states()).toEqual(['x Failing']);
    bed.hosted('built-in').answered();
    expect(bed.states()).toEqual(['x Serving']);
  });
});

test('sockets are listed as long as they exist, registered or not', async () => {
  await bed.register(A, 'a');
  bed.appear(B);
  const told = () => bed.plugins.sockets().map(({ path, isRegistered }) => [path, isRegistered]);
  expect(told()).toEqual(Object.entries({ [A]: true, [B]: false }));
  bed.disappear(A);
  expect(told()).toEqual([[B, false]]);
});

describe('a registration', () => {
  test('that is accepted: the plugin is connected, notified, and asked from then on', async () => {
    bed.appear(A);
    expect([bed.states(), bed.asked()]).toEqual([['a.sock Registering'], []]);
    await expect(bed.hosted(A).plugin.getEvictPods({} as never)).rejects.toThrow('not registered');
    bed.at(A).answer({ endpoint: '/run/rss.sock' });
    await settled();
    expect([bed.connected, bed.asked(), bed.at(A).waitsFor]).toEqual([
      ['/run/rss.sock'],
      [],
      'NotifyRegistrationStatus',
    ]);
    bed.at(A).hear();
    await settled();
    expect([bed.at(A).told, bed.asked()]).toEqual([[{ registered: true, error: '' }], ['rss']]);
    expect(bed.held).toBe(0);
    expect(messages()).toEqual(['info: The eviction plugin rss is registered']);
  });

  test('counts even if the plugin cannot be notified, which is a warning', async () => {
    bed.appear(A);
    bed.at(A).answer();
    await settled();
    bed.at(A).fail('unimplemented');
    await settled();
    expect(bed.asked()).toEqual(['rss']);
    expect(messages()[0]).toBe(
      'warn: The eviction plugin rss could not be told whether it is registered: unimplemented',
    );
  });

  test('that fails is tried again with a back-off, and each new problem is a warning once', async () => {
    bed.appear(A);
    for (const backOffMs of [500, 1000, 2000]) {
      bed.at(A).fail('connection refused');
      await settled();
      expect([bed.at(A).connections, bed.clock.nextInMs]).toEqual([0, backOffMs]);
      await bed.clock.step();
    }
    expect([bed.hosted(A).state(), bed.hosted(A).problem()]).toEqual(['Registering', 'connection refused']);
    expect(bed.lines.map(({ level }) => level)).toEqual(['warn', 'debug', 'debug']);
    bed.at(A).answer();
    await settled();
    bed.at(A).hear();
    await settled();
    expect(messages().at(-1)).toBe('info: The eviction plugin rss is registered after 3s500ms');
    expect(bed.hosted(A).problem()).toBeUndefined();
  });

  test('that hangs is aborted after ten seconds', async () => {
    bed.appear(A);
    await bed.clock.advance(10_000);
    expect(bed.hosted(A).problem()).toBe('GetInfo: no answer within 10s');
    expect(bed.at(A).connections).toBe(0);
  });

  test('whose plugin cannot be connected is refused with the reason', async () => {
    bed.connectError = new Error('the path is too long');
    bed.appear(A);
    bed.at(A).answer();
    await settled();
    expect(bed.at(A).told[0]?.error).toBe(
      'RegisterPlugin error -- plugin registration failed with err: the path is too long',
    );
  });

  test.each([
    [
      'another type',
      { type: 'CSIPlugin' },
      `no handler registered for plugin type: CSIPlugin at socket ${A}`,
    ],
    [
      'another version',
      { supportedVersions: ['v1'] },
      'supported here: v1alpha1; supported by the plugin: v1',
    ],
  ])('of %s is refused, and the plugin told', async (_, info, reason) => {
    bed.appear(A);
    bed.at(A).answer(info);
    await settled();
    expect(bed.at(A).told).toEqual([{ registered: false, error: expect.stringContaining(reason) }]);
    bed.at(A).hear();
    await settled();
    expect([bed.asked(), bed.connected, bed.clock.nextInMs]).toEqual([[], [], 500]);
  });

  test('whose socket cannot be opened is tried again', async () => {
    bed = new PluginBed({
      openRegistration: () => {
        throw new Error('no more files');
      },
    });
    bed.appear(A);
    await settled();
    expect([bed.hosted(A).problem(), bed.clock.nextInMs]).toEqual(['no more files', 500]);
  });

  test.each(['asked', 'told', 'waited for', 'refused'])(
    'ends with its socket while the plugin is %s',
    async (when) => {
      bed.appear(A);
      if (when === 'told') bed.at(A).answer();
      if (when === 'refused') bed.at(A).answer({ type: 'x' });
      if (when === 'waited for') bed.at(A).fail('down');
      await settled();
      bed.disappear(A);
      await settled();
      expect([bed.plugins.all(), bed.held, bed.connected]).toEqual([[], 0, []]);
    },
  );
});

test('a plugin whose socket goes with its answer is not connected', async () => {
  bed.appear(A);
  bed.at(A).answer();
  bed.disappear(A);
  await settled();
  expect([bed.plugins.all(), bed.held, bed.connected]).toEqual([[], 0, []]);
});

test('a plugin whose actor fails is gone, and holds nothing; others go on', async () => {
  const { logger, lines } = recordingLogger();
  const info = () => {
    throw new Error('the log is full');
  };
  bed = new PluginBed({ builtIn: [new FakePlugin('own')] }, { logger: { ...logger, info } });
  bed.appear(A);
  bed.at(A).answer();
  await settled();
  bed.at(A).hear();
  await settled();
  expect([bed.states(), bed.asked(), bed.connected]).toEqual([['own Serving', 'rss Gone'], ['own'], []]);
  expect(lines).toEqual([
    {
      level: 'error',
      message: 'The actor of a plugin failed, and the plugin is not asked any more: the log is full',
    },
  ]);
  await bed.plugins.stop();
});

test.each([
  ['itself', '/x.sock', { name: HOSTILE }],
  ['its type', '/x.sock', { type: HOSTILE }],
  ['its versions', '/x.sock', { supportedVersions: [HOSTILE] }],
  ['its endpoint', '/x.sock', { endpoint: HOSTILE }],
  ['its socket', `/${HOSTILE}\n.sock`, { type: 'other' }],
  ['its socket, and no name', `/${HOSTILE}\n.sock`, { name: '' }],
])(
  'whatever a plugin calls %s, what is told of it is one line that does not act on a terminal',
  async (_, path, offer) => {
    bed.appear(path);
    bed.at(path).answer(offer);
    await settled();
    const problems = bed.plugins.all().map((plugin) => plugin.problem() ?? '');
    const said = [...bed.lines.map(({ message }) => message), ...problems];
    expect(said.length).toBe(2);
    expect(said.filter((text) => ACTING.test(text) || text.includes('\n'))).toEqual([]);
  },
);

describe('a plugin that serves', () => {
  test('and fails still gets requests; each change is one line, with the plugin and since when', async () => {
    const hosted = await bed.register(A);
    await bed.clock.advance(1000);
    const failedAt = bed.clock.now();
    hosted.failed('timeout');
    await bed.clock.advance(5000);
    hosted.failed('nonsense');
    expect([hosted.state(), hosted.since(), hosted.problem()]).toEqual(['Failing', failedAt, 'nonsense']);
    expect(bed.asked()).toEqual(['rss']);
    await bed.clock.advance(MINUTE_MS);
    hosted.answered();
    hosted.answered();
    expect([hosted.state(), hosted.since(), hosted.problem()]).toEqual([
      'Serving',
      bed.clock.now(),
      undefined,
    ]);
    expect(messages().slice(1)).toEqual([
      'warn: The eviction plugin rss fails, and is asked again in each pass: timeout',
      'info: The eviction plugin rss answers again after 1m5s and 2 failures, the last: nonsense',
    ]);
  });

  test('and fails in each pass with one of its questions is a line once in ten minutes, and at once for another problem', async () => {
    const hosted = await bed.register(A);
    const before = bed.lines.length;
    const loud = () => bed.lines.slice(before).filter(({ level }) => level !== 'debug').length;
    for (let pass = 0; pass < 5; pass += 1) {
      hosted.failed('no top pods');
      hosted.answered();
    }
    expect(loud()).toBe(2);
    hosted.failed('timeout');
    expect(loud()).toBe(3);
    await bed.clock.advance(10 * MINUTE_MS);
    hosted.answered();
    hosted.failed('timeout');
    expect(loud()).toBe(5);
  });

  test('is gone with its socket: its connection is closed, and it is still shown for a while', async () => {
    const hosted = await bed.register(A);
    bed.disappear(A);
    expect([bed.asked(), bed.states(), bed.connected]).toEqual([[], ['rss Gone'], []]);
    expect(hosted.problem()).toBe('its socket is gone');
    expect(messages().at(-1)).toBe('info: The eviction plugin rss is not asked any more: its socket is gone');
    hosted.failed('closed');
    hosted.answered();
    expect(hosted.state()).toBe('Gone');
    await bed.clock.advance(10 * MINUTE_MS);
    expect(bed.states()).toEqual([]);
  });

  test('and comes back under its path serves again, and is shown once', async () => {
    await bed.register(A);
    bed.disappear(A);
    await bed.register(A);
    expect([bed.states(), bed.connected]).toEqual([['rss Serving'], [A]]);
  });

  test('reports each change of its state, and nothing else', async () => {
    const hosted = await bed.register(A);
    const before = bed.changes;
    hosted.answered();
    expect(bed.changes).toBe(before);
    hosted.failed('timeout');
    hosted.failed('timeout');
    bed.disappear(A);
    expect(bed.changes).toBe(before + 2);
  });
});

describe('two plugins with the same name', () => {
  test('the later one replaces the other, which is closed', async () => {
    const former = await bed.register(A);
    bed.appear(B);
    bed.at(B).answer();
    await settled();
    expect(bed.plugins.plugins().map(({ origin }) => origin)).toEqual([A]);
    bed.at(B).hear();
    await settled();
    expect(bed.plugins.plugins().map(({ origin }) => origin)).toEqual([B]);
    expect([bed.connected, former.state(), former.problem()]).toEqual([
      [B],
      'Gone',
      `replaced by the plugin at ${B}`,
    ]);
  });

  test('if the later one goes, the other registers again', async () => {
    await bed.register(A);
    await bed.register(B);
    bed.disappear(B);
    expect(bed.at(A).tries).toBe(2);
    bed.at(A).answer();
    await settled();
    bed.at(A).hear();
    await settled();
    expect([bed.plugins.plugins().map(({ origin }) => origin), bed.connected]).toEqual([[A], [A]]);
    expect(bed.states()).toEqual(['rss Serving', 'rss Gone']);
  });

  test('if the replaced one goes, nothing changes for the other', async () => {
    await bed.register(A);
    await bed.register(B);
    bed.disappear(A);
    bed.disappear(B);
    expect([bed.at(A).tries, bed.asked(), bed.connected]).toEqual([1, [], []]);
  });

  test('that register at the same time: the one that is notified last has the name, and stays', async () => {
    for (const path of [A, B]) bed.appear(path);
    for (const path of [B, A]) bed.at(path).answer();
    await settled();
    for (const path of [B, A]) bed.at(path).hear();
    await settled();
    expect([bed.plugins.plugins().map(({ origin }) => origin), bed.connected]).toEqual([[A], [A]]);
    await bed.clock.advance(5 * MINUTE_MS);
    expect([bed.at(A).tries, bed.at(B).tries]).toEqual([1, 1]);
  });
});

test('with a parent, whose system they belong to, nothing is left either', async () => {
  const parent = createActor(createMachine({})).start();
  bed = new PluginBed({ builtIn: [new FakePlugin('own')] }, { parent });
  const hosted = await bed.register(A);
  bed.disappear(A);
  await bed.register(B);
  await bed.plugins.stop();
  bed.hosted(B).failed('late');
  expect([hosted.state(), bed.plugins.plugins(), parent.getSnapshot().status]).toEqual([
    'Gone',
    [],
    'active',
  ]);
  expect([bed.held, bed.connected]).toEqual([0, []]);
  parent.stop();
});

test('of plugins that are gone only the latest are kept', async () => {
  for (let i = 0; i < 30; i += 1) {
    await bed.register(`/registry/${i}.sock`, `plugin-${i}`);
    bed.disappear(`/registry/${i}.sock`);
  }
  expect(bed.states()).toHaveLength(20);
  expect(bed.states().at(-1)).toBe('plugin-29 Gone');
});

test('after the stop no plugin is connected, none gets a request, and no timer is set, whatever was under way', async () => {
  await bed.register(A);
  bed.appear(B);
  bed.appear('/c');
  bed.at('/c').answer({ name: 'c' });
  bed.appear('/d');
  bed.at('/d').fail('down');
  await settled();
  const before = bed.changes;
  await bed.plugins.stop();
  expect([bed.held, bed.connected]).toEqual([0, []]);
  bed.appear('/e');
  bed.disappear(A);
  await settled();
  expect([bed.at('/e').tries, bed.changes]).toEqual([0, before]);
});

test('two hundred sockets at once are registered', async () => {
  const paths = Array.from({ length: 200 }, (_, i) => `/registry/${i}.sock`);
  for (const path of paths) bed.appear(path);
  for (let from = 0; from < paths.length; from += AT_ONCE) {
    const some = paths.slice(from, from + AT_ONCE);
    for (const path of some)
      bed.at(path).answer({ ...RSS_INFO, name: `plugin of ${path}`.replaceAll(/\W+/gu, '-') });
    await settled();
    for (const path of some) bed.at(path).hear();
    await settled();
  }
  // The line that counts what the log leaves out.
  await bed.clock.advance(2_000);
  expect([bed.asked().length, bed.connected.length, bed.held]).toEqual([200, 200, 0]);
});

describe('many sockets at once', () => {
  const paths = Array.from({ length: 500 }, (_, i) => `/registry/${i}.sock`);
  const begun = () => paths.filter((path) => bed.at(path).connections > 0).length;

  test('register a few at a time; one that hangs makes way for another', async () => {
    for (const path of paths) bed.appear(path);
    expect(begun()).toBe(AT_ONCE);
    await bed.clock.advance(100);
    await settled();
    expect(begun()).toBe(2 * AT_ONCE);
    bed.at(paths[0] ?? '').fail('connection refused');
    await settled();
    expect(begun()).toBe(2 * AT_ONCE - 1);
  });

  test('that refuse connections are a few lines of the log, and one that counts the rest; at trace all of them', async () => {
    for (const path of paths) bed.appear(path);
    for (let from = 0; from < paths.length; from += AT_ONCE) {
      for (const path of paths.slice(from, from + AT_ONCE)) bed.at(path).fail('connection refused');
      await settled();
    }
    await bed.clock.advance(2_000);
    const shown = bed.lines.filter(({ level }) => level !== 'trace');
    expect(shown).toHaveLength(21);
    expect(shown.at(-1)).toMatchObject({
      level: 'warn',
      message: expect.stringMatching(/^Eviction plugins: \d+ more lines about them are left out; /),
    });
    expect(bed.lines.filter(({ message }) => message.includes('connection refused'))).toHaveLength(500);
  });
});

test('the name of a built-in plugin that is not asked cannot be taken', async () => {
  await bed.plugins.stop();
  bed = new PluginBed({ reservedNames: ['own'] });
  bed.appear(A);
  bed.at(A).answer({ ...RSS_INFO, name: 'own' });
  await settled();
  expect(bed.hosted(A).problem()).toContain('"own" is the name of a built-in plugin');
  expect(messages()).toEqual([expect.stringMatching(/^warn: .*"own" is the name of a built-in plugin/)]);
});
