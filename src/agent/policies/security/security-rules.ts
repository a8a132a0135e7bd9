/**
 * The rules of the API server's validation for security: fields that contradict each other, or ask for something that no node
 * with Linux has. The pod may break the schema: such parts are not judged here.
 */
import { dottedSysctl, sysctlNamespace } from './sysctls.ts';

export interface SpecProblem {
  /** `spec.containers[0].securityContext.privileged`. */
  readonly path: string;
  readonly message: string;
}

type Tree = Readonly<Record<string, unknown>>;
type Problems = Iterable<SpecProblem>;

const CONTAINER_LISTS = ['initContainers', 'containers', 'ephemeralContainers'];
const HOST_NAMESPACES = ['hostNetwork', 'hostPID', 'hostIPC'];

/** `spec`: the parsed spec of a pod. */
export function securityProblems(spec: unknown): readonly SpecProblem[] {
  const root = tree(spec);
  const podContext = tree(root.securityContext);
  return [
    ...namespaceProblems(root),
    ...hostnameProblems(root),
    ...sysctlProblems(root),
    ...contextProblems('spec.securityContext', podContext, root),
    ...CONTAINER_LISTS.flatMap((list) =>
      trees(root[list]).flatMap((container, index) =>
        containerProblems(`spec.${list}[${index}].securityContext`, tree(container.securityContext), root),
      ),
    ),
  ];
}

function* namespaceProblems(spec: Tree): Problems {
  if (spec.shareProcessNamespace === true && spec.hostPID === true)
    yield { path: 'spec.shareProcessNamespace', message: 'must not be true where spec.hostPID is true' };
  if (spec.hostUsers !== false) return;
  for (const field of HOST_NAMESPACES.filter((name) => spec[name] === true))
    yield { path: `spec.${field}`, message: 'must not be true where spec.hostUsers is false' };
}

function* hostnameProblems(spec: Tree): Problems {
  if (!spec.hostnameOverride) return;
  for (const field of ['hostNetwork', 'setHostnameAsFQDN'].filter((name) => spec[name] === true))
    yield { path: `spec.${field}`, message: 'must not be true where there is a spec.hostnameOverride' };
}

function* sysctlProblems(spec: Tree): Problems {
  const seen = new Set<string>();
  for (const [index, sysctl] of trees(tree(spec.securityContext).sysctls).entries()) {
    if (typeof sysctl.name !== 'string') continue;
    const path = `spec.securityContext.sysctls[${index}].name`;
    const name = dottedSysctl(sysctl.name);
    const shared = { net: 'hostNetwork', ipc: 'hostIPC', none: '' }[sysctlNamespace(name) ?? 'none'];
    if (seen.has(name)) yield { path, message: `"${name}" is set twice` };
    if (shared !== '' && spec[shared] === true)
      yield { path, message: `must not be set where spec.${shared} is true: it would be the node's` };
    seen.add(name);
  }
}

/** The rules that apply to the security context of a pod and of a container alike. */
function* contextProblems(path: string, context: Tree, spec: Tree): Problems {
  yield* profileProblems(`${path}.seccompProfile`, tree(context.seccompProfile), isPathWithin);
  yield* profileProblems(`${path}.appArmorProfile`, tree(context.appArmorProfile), isProfileName);
  const { windowsOptions } = context;
  if (windowsOptions === undefined) return;
  const field = `${path}.windowsOptions`;
  if (tree(spec.os).name === 'linux')
    yield { path: field, message: 'must not be set where spec.os.name is linux' };
  else if (tree(windowsOptions).hostProcess === true)
    yield { path: `${field}.hostProcess`, message: 'only nodes that run Windows have host processes' };
}

/** What is wrong with a name; undefined if it is valid. */
type NameRule = (name: string) => string | undefined;

function* profileProblems(path: string, { type, localhostProfile }: Tree, rule: NameRule): Problems {
  const field = `${path}.localhostProfile`;
  const given = typeof localhostProfile === 'string' && localhostProfile !== '';
  if (type === 'Localhost') {
    const message = given ? rule(localhostProfile) : 'is required where the type is Localhost';
    if (message !== undefined) yield { path: field, message };
  } else if (typeof type === 'string' && localhostProfile !== undefined) {
    yield { path: field, message: 'must not be set unless the type is Localhost' };
  }
}

const isPathWithin: NameRule = (name) =>
  name.startsWith('/') || name.split('/').includes('..')
    ? 'must be a path below the folder of the seccomp profiles, without ".."'
    : undefined;

const isProfileName: NameRule = (name) =>
  name.trim() === name ? undefined : 'must not begin or end with white space';

function containerProblems(path: string, context: Tree, spec: Tree): SpecProblem[] {
  return [
    ...contextProblems(path, context, spec),
    ...escalationProblems(path, context),
    ...procMountProblems(path, context, spec),
  ];
}

/** An unmasked /proc is safe only if root in the pod is not root of the node. */
function* procMountProblems(path: string, { procMount }: Tree, spec: Tree): Problems {
  if (procMount === 'Unmasked' && spec.hostUsers !== false)
    yield { path: `${path}.procMount`, message: 'must not be Unmasked unless spec.hostUsers is false' };
}

/** Without privilege escalation a container could not use these privileges. */
function* escalationProblems(path: string, context: Tree): Problems {
  if (context.allowPrivilegeEscalation !== false) return;
  const field = `${path}.allowPrivilegeEscalation`;
  if (context.privileged === true)
    yield { path: field, message: 'must not be false in a privileged container' };
  const { add } = tree(context.capabilities);
  if (Array.isArray(add) && (add.includes('CAP_SYS_ADMIN') || add.includes('SYS_ADMIN')))
    yield { path: field, message: 'must not be false in a container with the capability SYS_ADMIN' };
}

function tree(value: unknown): Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Tree) : {};
}

function trees(list: unknown): Tree[] {
  return Array.isArray(list) ? list.map(tree) : [];
}
