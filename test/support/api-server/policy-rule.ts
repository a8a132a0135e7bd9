/** Rules of RBAC, and the attributes of requests to which they apply. */

export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

export const READ = ['get', 'list', 'watch'] as const;

export function rule(verbs: readonly string[], group: string, ...resources: readonly string[]): PolicyRule {
  return { verbs, apiGroups: [group], resources };
}

/** As a SubjectAccessReview has it. */
export interface Attributes {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly fieldSelector?: string;
}

export interface PathAttributes {
  readonly verb: string;
  readonly path: string;
}

export function allows(rule: PolicyRule, attributes: Attributes | PathAttributes): boolean {
  const has = (list: readonly string[] | undefined, value: string) =>
    list?.includes(value) === true || list?.includes('*') === true;
  if (!has(rule.verbs, attributes.verb)) return false;
  if ('path' in attributes)
    return (rule.nonResourceURLs ?? []).some(
      (url) => url === attributes.path || (url.endsWith('*') && attributes.path.startsWith(url.slice(0, -1))),
    );
  const { group, resource, subresource, name } = attributes;
  const full = subresource === '' ? resource : `${resource}/${subresource}`;
  if (!has(rule.apiGroups, group)) return false;
  const isResource =
    has(rule.resources, full) || (subresource !== '' && has(rule.resources, `*/${subresource}`));
  return isResource && (rule.resourceNames === undefined || rule.resourceNames.includes(name));
}
