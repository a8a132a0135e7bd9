/** Mutants of what pods get from ConfigMaps, Secrets and Services. */
import type { Mutant } from './mutant.ts';

const CONTENTS = 'src/agent/runtime/volumes/kinds/volume-contents.ts';
const WATCH = 'src/agent/cluster/objects/object-watch.ts';
const ENVIRONMENT = 'src/agent/policies/cri/env-objects.ts';

export const CONTENT_MUTANTS: readonly Mutant[] = [
  {
    name: 'required-files-left-out',
    breaks: 'A container starts although an object is missing that its volume requires',
    file: CONTENTS,
    find: `  if (isOptional(source)) return [];
`,
    replace: `  if (isOptional(source) || provider !== undefined) return [];
`,
  },
  {
    name: 'required-variable-left-out',
    breaks: 'A container starts although an object is missing that its variables require',
    file: ENVIRONMENT,
    find: `  if (optional !== true) throw new`,
    replace: `  if (optional !== true && name === '') throw new`,
  },
  {
    name: 'objects-not-registered',
    breaks: 'What a pod refers to is not followed: the pod never starts (I7)',
    file: 'src/agent/runtime/pods/object-subsystem.ts',
    find: `promiseOf(() => objects?.registerPod(pod))`,
    replace: `promiseOf(() => objects?.forgetPod(pod.metadata.uid))`,
  },
  {
    name: 'first-version-kept',
    breaks: 'The files of a volume do not follow their object',
    file: WATCH,
    find: `    this.#known = state;
`,
    replace: `    this.#known ??= state;
`,
  },
];
