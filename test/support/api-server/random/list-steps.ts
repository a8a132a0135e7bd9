/** Random lists, and deletions of collections. */
import { at, type Draw, type RandomStep } from './draw.ts';

export function listStep(draw: Draw): RandomStep {
  const as = draw.chance(0.3) ? 'node' : 'admin';
  const plural = draw.pick(['configmaps', 'pods', 'pods', 'secrets', 'nodes']);
  const path = plural === 'nodes' ? '/api/v1/nodes' : at(draw, plural);
  const query = draw.pick([
    ...[
      '',
      'limit=1',
      'limit=2',
      'limit=1&continue=<<continue>>',
      'continue=nonsense',
      'labelSelector=color%3Dblue',
    ],
    ...[
      'labelSelector=color%20in%20(red,blue),!size',
      'labelSelector=color!%3Dblue',
      'labelSelector=%3D%3D',
      'labelSelector=size',
    ],
    ...[
      'fieldSelector=metadata.name%3Da',
      'fieldSelector=metadata.name!%3Da',
      'fieldSelector=spec.nodeName%3Dnode-1',
      'fieldSelector=status.phase%3DRunning',
    ],
    ...[
      'fieldSelector=data.x%3D1',
      'resourceVersion=0',
      'resourceVersion=1',
      'resourceVersion=1&resourceVersionMatch=NotOlderThan',
      'resourceVersion=abc',
    ],
    ...[
      'resourceVersionMatch=Exact',
      'resourceVersion=0&resourceVersionMatch=Exact',
      'limit=-1',
      'limit=x',
      'resourceVersion=1&resourceVersionMatch=What',
    ],
    'resourceVersion=99999999999',
  ]);
  return { as, method: draw.chance(0.06) ? 'DELETE' : 'GET', path: query === '' ? path : `${path}?${query}` };
}
