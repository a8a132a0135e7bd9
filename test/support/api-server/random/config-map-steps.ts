/** Random requests for ConfigMaps. */
import { applyOptions, at, deletion, type Draw, metadataOf, NAMES, type RandomStep, TYPES } from './draw.ts';

export function configMapStep(draw: Draw): RandomStep {
  const name = draw.pick(NAMES);
  const as = draw.chance(0.1) ? 'node' : 'admin';
  const path = at(draw, 'configmaps', name);
  const data = draw.pick([{ x: '1' }, { x: '2', y: '1' }, { y: '2' }, { 'a/b': '1' }, {}]);
  const map = (more: object, metadata: object = {}) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, ...metadata },
    ...more,
  });
  const fields = draw.pick<object>([{ data }, { data, extra: 1 }, { data, binaryData: { z: 'AAE=' } }]);
  return draw.weighted([
    [
      3,
      () => ({
        as,
        method: 'POST',
        path: `${at(draw, 'configmaps')}${draw.query()}`,
        body: map(fields, metadataOf(draw)),
      }),
    ],
    [
      2,
      () => ({
        as,
        method: 'PUT',
        path: path + draw.query(),
        onto: draw.pick(['latest', 'latest', 'earliest'] as const),
        body: map({ data }, draw.chance(0.5) ? {} : { labels: draw.labels() }),
      }),
    ],
    [1, () => ({ as, method: 'PUT', path: path + draw.query(), body: map({ data }) })],
    [
      2,
      () => ({
        as,
        method: 'PATCH',
        path: path + draw.query(),
        type: TYPES.merge,
        body: draw.pick<object>([
          { data },
          { data: { x: null, y: '3' } },
          { data: null },
          { metadata: { labels: { color: null, size: 'odd' } } },
          { metadata: { annotations: { note: 'n' } } },
          { metadata: { resourceVersion: `<<version ${path}>>` }, data: { v: '1' } },
          { metadata: { uid: 'other' } },
          { metadata: { name: 'z' } },
          { immutable: true },
          { data: { x: 5 } },
        ]),
      }),
    ],
    [
      2,
      () => ({
        as,
        method: 'PATCH',
        path: path + draw.query(),
        type: TYPES.strategic,
        body: draw.pick<object>([
          { data },
          { metadata: { finalizers: ['example.com/one'] } },
          { metadata: { finalizers: ['example.com/two'] } },
          { metadata: { '$deleteFromPrimitiveList/finalizers': ['example.com/one', 'example.com/two'] } },
          { data: { $patch: 'replace', x: '9' } },
          { $patch: 'delete' },
          {
            metadata: {
              ownerReferences: [
                {
                  apiVersion: 'v1',
                  kind: 'ConfigMap',
                  name: 'b',
                  uid: `<<uid ${at(draw, 'configmaps', 'b')}>>`,
                },
              ],
            },
          },
          { data: { x: null } },
        ]),
      }),
    ],
    [
      1,
      () => ({
        as,
        method: 'PATCH',
        path: path + draw.query(),
        type: TYPES.json,
        body: draw.pick<object>([
          [{ op: 'add', path: '/data', value: { j: '1' } }],
          [{ op: 'replace', path: '/data/x', value: '7' }],
          [{ op: 'remove', path: '/data/y' }],
          [
            { op: 'test', path: '/data/x', value: '1' },
            { op: 'add', path: '/data/t', value: '1' },
          ],
          [{ op: 'copy', from: '/data/x', path: '/data/copied' }],
          [{ op: 'move', from: '/data/x', path: '/data/moved' }],
          [{ op: 'add', path: '/metadata/labels/new', value: 'l' }],
          [{ op: 'what', path: '/data' }],
          { op: 'add' },
        ]),
      }),
    ],
    [
      4,
      () => ({
        as,
        method: 'PATCH',
        path: path + draw.query(...applyOptions(draw)),
        type: TYPES.apply,
        body: map(
          draw.pick<object>([{ data }, { data: { x: '1', y: '5' } }, {}]),
          draw.chance(0.4) ? { labels: draw.labels() } : {},
        ),
      }),
    ],
    [2, () => deletion(draw, as, path)],
    [1, () => ({ as, method: 'GET', path })],
  ]);
}
