/** What users may do: by the roles that they have (RBAC), and nodes by the node authorizer. */
import { ACCOUNT_USER, type AnyObject, MASTERS, nodeOf, type Store, type User } from './context.ts';
import { NodeAuthorizer } from './node-authorizer.ts';
import { allows, type Attributes, type PathAttributes, type PolicyRule } from './policy-rule.ts';
import { forbidden, StatusError } from './status-error.ts';
import { attemptText, type ResourceRequest } from './requests.ts';

export interface Decision {
  readonly allowed: boolean;
  readonly reason: string;
}

interface RoleRef {
  readonly kind: string;
  readonly name: string;
}

export class Authorization {
  readonly #store: Store;
  readonly #nodes: NodeAuthorizer;

  constructor(store: Store) {
    this.#store = store;
    this.#nodes = new NodeAuthorizer(store);
  }

  decide(user: User, attributes: Attributes | PathAttributes): Decision {
    if (user.groups.includes(MASTERS)) return { allowed: true, reason: '' };
    const nodeName = nodeOf(user);
    let reason = '';
    if (nodeName !== undefined && 'resource' in attributes) {
      const why = this.#nodes.whyRefused(nodeName, attributes);
      if (why === undefined) return { allowed: true, reason: '' };
      reason = why;
    }
    for (const { rules, binding } of this.#rulesOf(
      user,
      'resource' in attributes ? attributes.namespace : undefined,
    ))
      if (rules.some((rule) => allows(rule, attributes)))
        return { allowed: true, reason: `RBAC: allowed by ${binding}` };
    return { allowed: false, reason };
  }

  /** Throws the server's answer to a request that the user may not make. */
  check(user: User, request: ResourceRequest): void {
    const { type, verb, subresource, namespace, name, query } = request;
    const attributes = { verb, group: type.group, resource: type.plural, subresource, namespace, name };
    const fieldSelector = query.get('fieldSelector');
    const decision = this.decide(user, { ...attributes, ...(fieldSelector !== null && { fieldSelector }) });
    if (decision.allowed) return;
    const why = decision.reason === '' ? '' : `: ${decision.reason}`;
    throw forbidden(type, name, `User "${user.name}" ${attemptText(request)}${why}`);
  }

  checkPath(user: User, method: string, path: string): void {
    const verb = method === 'HEAD' ? 'head' : method.toLowerCase();
    if (this.decide(user, { verb, path }).allowed) return;
    throw new StatusError(
      403,
      'Forbidden',
      `forbidden: User "${user.name}" cannot ${verb} path "${path}"`,
      {},
    );
  }

  *#rulesOf(
    user: User,
    namespace: string | undefined,
  ): Generator<{ readonly rules: readonly PolicyRule[]; readonly binding: string }> {
    const group = 'rbac.authorization.k8s.io';
    const bindings = [
      ...this.#store.list(`clusterrolebindings.${group}`),
      ...(namespace === undefined
        ? []
        : this.#store.list(`rolebindings.${group}`).filter((one) => one.metadata.namespace === namespace)),
    ] as AnyObject[];
    for (const binding of bindings) {
      if (!((binding.subjects ?? []) as Subject[]).some((subject) => isSubject(user, subject, namespace)))
        continue;
      const { kind, name } = binding.roleRef as RoleRef;
      const isCluster = kind === 'ClusterRole';
      const role = this.#store.get(isCluster ? `clusterroles.${group}` : `roles.${group}`, {
        name,
        ...(!isCluster && { namespace }),
      }) as AnyObject | undefined;
      if (role === undefined) continue;
      yield {
        rules: (role.rules ?? []) as PolicyRule[],
        binding: `${binding.kind as string} "${binding.metadata.name}"`,
      };
    }
  }
}

interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

function isSubject({ name, groups }: User, subject: Subject, namespace = ''): boolean {
  if (subject.kind === 'User') return subject.name === name;
  if (subject.kind === 'Group') return groups.includes(subject.name);
  return name === `${ACCOUNT_USER}${subject.namespace ?? namespace}:${subject.name}`;
}
