import { describe, expect, test } from '@jest/globals';
import { setup } from 'xstate';
import { graphOf } from '../../scripts/picture/graph.ts';
import { pictureOf } from '../../scripts/picture/picture.ts';

const lamp = setup({
  guards: { isDark: () => true },
  actions: { light: () => undefined },
}).createMachine({
  id: 'lamp',
  initial: 'On',
  states: {
    On: {
      initial: 'Bright',
      states: {
        Bright: { on: { DIM: 'Dim', PRESS: '#lamp.Off' } },
        Dim: { on: { PRESS: '#lamp.Off', FLICKER: {} } },
      },
    },
    Off: { on: { PRESS: { guard: 'isDark', target: 'On', actions: 'light' } } },
  },
});

describe('the graph of a machine', () => {
  const { children = [], edges = [] } = graphOf(lamp);
  const ends = edges.map(({ sources, targets, labels = [] }) =>
    [...sources, ...targets, ...labels.map(({ text }) => text)].join(' '),
  );

  test('has a node for each state, inside the state around it', () => {
    const on = children.find(({ id }) => id === 'lamp.On');
    expect(children.map(({ id }) => id)).toEqual(['initial:lamp', 'lamp.On', 'lamp.Off']);
    expect(on?.children?.map(({ id }) => id)).toEqual(['initial:lamp.On', 'lamp.On.Bright', 'lamp.On.Dim']);
  });

  test('draws ways between states of one frame from state to state', () => {
    expect(ends).toContain('lamp.On.Bright lamp.On.Dim DIM');
  });

  test('draws what leaves a frame once, from the frame', () => {
    expect(ends.filter((text) => text.includes('Off'))).toEqual([
      'lamp.On lamp.Off PRESS',
      'lamp.Off lamp.On PRESS',
    ]);
  });

  test('leaves out events that keep the state', () => {
    expect(ends.join()).not.toContain('FLICKER');
  });
});

describe('the picture of a machine', () => {
  test('is SVG with every state and event, and the same each time', async () => {
    const picture = await pictureOf(lamp, 'a < b');
    expect(picture).toMatch(/^<svg [^]*<\/svg>\n$/u);
    for (const text of ['On', 'Off', 'Bright', 'Dim', 'DIM', 'PRESS', 'a &lt; b'])
      expect(picture).toContain(`>${text}<`);
    expect(await pictureOf(lamp, 'a < b')).toBe(picture);
  });
});
