/** The files of the downward API, and the files of a volume with several sources. As with the kubelet, all failures are reported together. */
import { errorKind, errorMessage, StateletError } from '../../../types/errors.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type { ResourceList } from '../pod/resources.ts';
import { fileFieldValue, resourceFieldValue } from './downward-fields.ts';
import { cleanPath, type VolumeFile } from './projected-files.ts';
import type { VolumeProjection } from './volume-source.ts';

type Item = NonNullable<NonNullable<VolumeProjection['downwardAPI']>['items']>[number];

/** Values of fields by their paths, while the pod is as it is: many items may show all labels. */
export type FieldValues = Map<string, string>;

/** Throws a StateletError of kind InvalidArgument that names all items whose field or resource does not exist. */
export function downwardAPIFiles(
  pod: Pod,
  items: readonly Item[],
  defaultMode: number,
  allocatable: ResourceList,
  fields?: FieldValues,
): readonly VolumeFile[] {
  return wholeFiles(collectDownwardAPI(pod, items, defaultMode, allocatable, fields));
}

/** An item whose field or resource does not exist has an empty file. */
export function collectDownwardAPI(
  pod: Pod,
  items: readonly Item[],
  defaultMode: number,
  allocatable: ResourceList,
  fields: FieldValues = new Map(),
): CollectedFiles {
  const files: VolumeFile[] = [];
  const problems: unknown[] = [];
  for (const item of items) {
    let content = '';
    try {
      content = itemContent(pod, item, allocatable, fields);
    } catch (error) {
      problems.push(error);
    }
    files.push({ path: cleanPath(item.path), content, mode: item.mode ?? defaultMode });
  }
  return { files, problems };
}

/** As with the kubelet, an item that says nothing has an empty file. The rules for volumes refuse such an item before. */
function itemContent(
  pod: Pod,
  { path, fieldRef, resourceFieldRef }: Item,
  allocatable: ResourceList,
  fields: FieldValues,
): string {
  if (fieldRef) {
    const { fieldPath } = fieldRef;
    const value = fields.get(fieldPath) ?? fileFieldValue(pod, fieldPath);
    fields.set(fieldPath, value);
    return value;
  }
  const [owner] = pod.spec.containers;
  if (!resourceFieldRef || !owner) return '';
  if (!resourceFieldRef.containerName) {
    throw new StateletError('InvalidArgument', `item ${path}: resourceFieldRef must have containerName`);
  }
  return resourceFieldValue(pod, owner, resourceFieldRef, allocatable);
}

export interface CollectedFiles {
  readonly files: readonly VolumeFile[];
  /** Why other files are missing. */
  readonly problems: readonly unknown[];
}

/** The problems of several sources or items. */
class SeveralProblems extends StateletError {
  readonly problems: readonly unknown[];

  constructor(problems: readonly unknown[]) {
    const messages = problems.map(errorMessage).join(', ');
    super(errorKind(problems[0]), `[${messages}]`, { cause: problems[0] });
    this.problems = problems;
  }
}

/** In the order of the sources. A source that fails has no files. */
export function collectFiles(
  outcomes: readonly PromiseSettledResult<readonly VolumeFile[]>[],
): CollectedFiles {
  return {
    files: outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : [])),
    problems: outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [outcome.reason as unknown] : [],
    ),
  };
}

/** All files. Throws where one is missing: the problem, or one error with the messages of all, each once. */
export function wholeFiles({ files, problems }: CollectedFiles): readonly VolumeFile[] {
  const single = problems.flatMap((problem) =>
    problem instanceof SeveralProblems ? problem.problems : [problem],
  );
  const distinct = [...new Map(single.map((problem) => [errorMessage(problem), problem])).values()];
  if (distinct.length > 1) throw new SeveralProblems(distinct);
  if (distinct.length === 1) throw distinct[0];
  return files;
}
