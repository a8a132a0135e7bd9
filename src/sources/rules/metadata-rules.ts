/** The rules of the API server's validation for metadata. Tolerates metadata that breaks the schema. */
import { child, items, pathOf, problemAt, text, type Place } from './place.ts';
import type { ManifestProblem } from '../source.ts';

type Problems = Iterable<ManifestProblem>;

const NAME_LENGTH_MAX = 253;
const ANNOTATION_BYTES_MAX = 256 * 1024;
const STANDARD_FINALIZERS = ['kubernetes', 'orphan', 'foregroundDeletion'];
const APPARMOR = 'container.apparmor.security.beta.kubernetes.io/';
const APPARMOR_PROFILE = /^(unconfined|runtime\/default|localhost\/.+)?$/;

export function* metadataProblems(root: Place, nodeName: string | undefined): Problems {
  for (const metadata of child(root, 'metadata')) {
    if (metadata.value.name === undefined) yield problemAt(metadata, 'name', 'is required');
    const lengthMax = NAME_LENGTH_MAX - (nodeName === undefined ? 0 : nodeName.length + 1);
    const { length } = text(metadata, 'name') ?? '';
    if (length > lengthMax && length <= NAME_LENGTH_MAX)
      yield problemAt(
        metadata,
        'name',
        `must be at most ${lengthMax} characters: "-${nodeName ?? ''}" is appended`,
      );
    yield* annotations(metadata, root);
    yield* finalizers(metadata);
    if (items(metadata, 'ownerReferences').filter(({ value }) => value.controller === true).length > 1)
      yield problemAt(metadata, 'ownerReferences', 'must name only one controller');
  }
}

function* annotations(metadata: Place, root: Place): Problems {
  for (const place of child(metadata, 'annotations')) {
    const texts = Object.entries(place.value)
      .flat()
      .filter((text) => typeof text === 'string');
    if (texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) > ANNOTATION_BYTES_MAX)
      yield problemAt(metadata, 'annotations', 'must have no more than 256 KiB together');
    for (const [key, profile] of Object.entries(place.value).filter(([key]) => key.startsWith(APPARMOR))) {
      const name = key.slice(APPARMOR.length);
      if (!containers(root).some(({ value }) => value.name === name))
        yield problemAt(place, key, `there is no container "${name}"`);
      if (typeof profile === 'string' && !APPARMOR_PROFILE.test(profile))
        yield problemAt(place, key, 'must be unconfined, runtime/default or localhost/PROFILE');
    }
  }
}

function containers(root: Place): Place[] {
  return child(root, 'spec').flatMap((spec) => [
    ...items(spec, 'initContainers'),
    ...items(spec, 'containers'),
  ]);
}

function* finalizers(metadata: Place): Problems {
  const { finalizers } = metadata.value;
  if (!Array.isArray(finalizers)) return;
  for (const [index, name] of finalizers.entries()) {
    if (typeof name === 'string' && !name.includes('/') && !STANDARD_FINALIZERS.includes(name))
      yield {
        field: `${pathOf(metadata, 'finalizers')}[${index}]`,
        message: 'must be a name with a domain such as example.com/finalizer',
      };
  }
}
