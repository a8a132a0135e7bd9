/** The files of several sources. As with the kubelet, all that fails is told. */
import { errorKind, errorMessage, StateletError } from '../../types/errors.ts';
import type { VolumeFile } from './projected-files.ts';

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

/** All files. Throws where one is missing: the problem, or one error with the messages of all, each told once. */
export function wholeFiles({ files, problems }: CollectedFiles): readonly VolumeFile[] {
  const single = problems.flatMap((problem) =>
    problem instanceof SeveralProblems ? problem.problems : [problem],
  );
  const distinct = [...new Map(single.map((problem) => [errorMessage(problem), problem])).values()];
  if (distinct.length > 1) throw new SeveralProblems(distinct);
  if (distinct.length === 1) throw distinct[0];
  return files;
}
