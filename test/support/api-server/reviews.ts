/** Requests whose objects are not stored: tokens, reviews of tokens, and reviews of access. */
import { rfc3339 } from '../../../src/agent/policies/formats/time.ts';
import type { ApiObjects, Target } from './api-objects.ts';
import type { Authorization } from './authorization.ts';
import { type AnyObject, type Draft, nodeOf, type User } from './context.ts';
import type { Attributes, PathAttributes } from './policy-rule.ts';
import { typeOf } from './served-types.ts';
import { badRequest, forbidden, invalid, notFound } from './status-error.ts';
import { ISSUER, type ServiceAccountTokens } from './tokens.ts';

export interface ReviewHost {
  readonly objects: ApiObjects;
  readonly tokens: ServiceAccountTokens;
  readonly authorization: Authorization;
}

const SECONDS_MIN = 600;
const SECONDS_MAX = 2 ** 32;
const SECONDS_DEFAULT = 3600;

/** The answer to a TokenRequest for a service account. */
export function requestToken(
  { objects, tokens, authorization }: ReviewHost,
  target: Target,
  request: Draft,
  user: User,
): object {
  const { spec = {} } = request;
  const { namespace = '' } = target;
  const seconds = Number(spec.expirationSeconds ?? SECONDS_DEFAULT);
  const tooShort = 'may not specify a duration less than 10 minutes';
  if (seconds < SECONDS_MIN || seconds > SECONDS_MAX) {
    const message = `Invalid value: ${seconds}: ${seconds < SECONDS_MIN ? tooShort : 'may not specify a duration larger than 2^32 seconds'}`;
    const type = { ...typeOf('serviceaccounts'), group: 'authentication.k8s.io', kind: 'TokenRequest' };
    throw invalid({ type, name: '' }, [{ field: 'spec.expirationSeconds', message }]);
  }
  const ref = spec.boundObjectRef as Draft | undefined;
  const nodeName = nodeOf(user);
  if (nodeName !== undefined) restrictToken({ objects, authorization }, target, spec as Draft, user);
  const account = objects.get(target);
  const bound = ref === undefined ? undefined : boundObject(objects, namespace, ref);
  if (ref?.kind === 'Pod' && bound?.spec.serviceAccountName !== target.name)
    throw badRequest(
      `cannot bind token for serviceaccount "${target.name}" to pod running with different serviceaccount name.`,
    );
  const asked = (spec.audiences ?? []) as string[];
  const audiences = asked.length === 0 ? [ISSUER] : asked;
  const { token, expiresAtMs } = tokens.issue({
    audiences,
    seconds,
    account,
    pod: ref?.kind === 'Pod' ? bound : undefined,
    secret: ref?.kind === 'Secret' ? bound : undefined,
  });
  return {
    kind: 'TokenRequest',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { name: target.name, namespace, creationTimestamp: rfc3339(objects.options.now()) },
    spec: { audiences, expirationSeconds: seconds, boundObjectRef: ref ?? null },
    status: { token, expirationTimestamp: rfc3339(expiresAtMs) },
  };
}

function boundObject(objects: ApiObjects, namespace: string, { kind, name, uid }: Draft): AnyObject {
  const plural = { Pod: 'pods', Secret: 'secrets' }[String(kind)];
  if (plural === undefined) throw badRequest(`cannot bind token to object of type v1, Kind=${String(kind)}`);
  const found = objects.get({ type: typeOf(plural), namespace, name: String(name) });
  if (uid !== undefined && uid !== '' && uid !== found.metadata.uid)
    throw notFound({ type: typeOf(plural), name: String(name) });
  return found;
}

/** A node may only request tokens that volumes of its pods name. */
function restrictToken(
  { objects, authorization }: Omit<ReviewHost, 'tokens'>,
  target: Target,
  spec: Draft,
  user: User,
): void {
  const refuse = (why: string) => forbidden(target.type, target.name, why);
  const ref = spec.boundObjectRef as Draft | undefined;
  if (ref?.apiVersion !== 'v1' || ref.kind !== 'Pod' || (ref.name ?? '') === '')
    throw refuse('node requested token not bound to a pod');
  if ((ref.uid ?? '') === '') throw refuse('node requested token with a pod binding without a uid');
  const pod = objects.get({ type: typeOf('pods'), namespace: target.namespace, name: String(ref.name) });
  if (ref.uid !== pod.metadata.uid)
    throw refuse(
      `the UID in the bound object reference (${String(ref.uid)}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  if (pod.spec.nodeName !== nodeOf(user))
    throw refuse('node requested token bound to a pod scheduled on a different node');
  const audiences = (spec.audiences ?? []) as string[];
  if (audiences.length > 1) throw refuse('node may only request 0 or 1 audiences');
  const [audience = ''] = audiences;
  if (namesAudience(objects, pod, audience)) return;
  const verb = 'request-serviceaccounts-token-audience';
  const { namespace, name } = target;
  const asked = { verb, group: '', resource: audience, subresource: '', namespace, name };
  if (!authorization.decide(user, asked).allowed)
    throw refuse(
      `audience "${audience}" not found in pod spec volume, ${user.name} is not authorized to request tokens for this audience`,
    );
}

function namesAudience(objects: ApiObjects, pod: AnyObject, audience: string): boolean {
  const volumes = (pod.spec.volumes ?? []) as Draft[];
  const sources = volumes.flatMap(({ projected }) => (projected?.sources ?? []) as Draft[]);
  if (
    sources.some(
      ({ serviceAccountToken: token }) => token !== undefined && (token.audience ?? '') === audience,
    )
  )
    return true;
  const drivers = volumes.flatMap(({ csi }) => (csi === undefined ? [] : [String(csi.driver)]));
  return drivers.some((name) => {
    const driver = objects.store.get('csidrivers.storage.k8s.io', { name }) as AnyObject | undefined;
    return ((driver?.spec.tokenRequests ?? []) as Draft[]).some((request) => request.audience === audience);
  });
}

/** The answer to an object of one of these kinds. */
export function review(host: ReviewHost, kind: string, object: Draft, user: User): object {
  const { spec = {} } = object;
  const answer = (status: object) => ({ ...object, metadata: { ...object.metadata }, spec, status });
  const decided = (who: User) => {
    const { allowed, reason } = host.authorization.decide(who, attributesOf(spec as Draft));
    return answer({ allowed, ...(reason !== '' && { reason }) });
  };
  switch (kind) {
    case 'TokenReview':
      return answer(reviewToken(host.tokens, spec as Draft));
    case 'SelfSubjectReview':
      return answer({ userInfo: userInfo(user) });
    case 'SelfSubjectAccessReview':
      return decided(user);
    default:
      return decided({ name: String(spec.user ?? ''), groups: (spec.groups ?? []) as string[] });
  }
}

function reviewToken(tokens: ServiceAccountTokens, { token = '', audiences }: Draft): object {
  const asked = audiences as string[] | undefined;
  const found = tokens.review(String(token), asked);
  if (found === undefined) return { user: {}, error: 'invalid bearer token' };
  return { authenticated: true, user: userInfo(found.user), audiences: found.audiences };
}

function userInfo({ name, uid, groups, extra }: User): object {
  return { username: name, ...(uid !== undefined && { uid }), groups, ...(extra && { extra }) };
}

function attributesOf({
  resourceAttributes: asked,
  nonResourceAttributes: path,
}: Draft): Attributes | PathAttributes {
  if (path !== undefined) return { verb: String(path.verb), path: String(path.path) };
  if (asked === undefined)
    throw badRequest('exactly one of nonResourceAttributes or resourceAttributes must be specified');
  const {
    verb = '',
    group = '',
    resource = '',
    subresource = '',
    namespace,
    name = '',
  } = asked as Record<string, string>;
  return { verb, group, resource, subresource, namespace, name };
}
