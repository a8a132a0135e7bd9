import { readFileSync } from 'node:fs';
import { rfc3339 } from '../../../../src/agent/policies/formats/time.ts';
import { LOOPBACK } from '../bootstrap.ts';
import { type AnyObject, type Draft, NODES } from '../context.ts';
import { typeOf } from '../served-types.ts';
import { requestSubject, signRequest } from '../sign-request.ts';
import type { ControllerHost } from './controllers.ts';

const KEY = 'certificatesigningrequests.certificates.k8s.io';
const CLIENT = 'kubernetes.io/kube-apiserver-client-kubelet';
const SIGNERS = new Set([CLIENT, 'kubernetes.io/kubelet-serving', 'kubernetes.io/kube-apiserver-client']);
const YEAR_SECONDS = 365 * 24 * 3600;
const RULES = {
  group: 'certificates.k8s.io',
  resource: 'certificatesigningrequests',
  verb: 'create',
  namespace: undefined,
};

/** Approves requests of nodes that need no person, and signs approved ones. */
export function signRequests(host: ControllerHost): void {
  for (const request of host.store.list(KEY) as AnyObject[]) {
    if (!SIGNERS.has(String(request.spec.signerName)) || request.status?.certificate !== undefined) continue;
    const conditions = ((request.status?.conditions ?? []) as Draft[]).map(({ type }) => String(type));
    if (conditions.includes('Denied') || conditions.includes('Failed')) continue;
    if (conditions.includes('Approved')) sign(host, request);
    else if (request.spec.signerName === CLIENT && isAllowed(host, request)) approve(host, request);
  }
}

const textOf = (request: AnyObject): string => Buffer.from(String(request.spec.request), 'base64').toString();

function isAllowed({ authorization }: ControllerHost, request: AnyObject): boolean {
  const { commonName, organizations } = requestSubject(textOf(request));
  if (!commonName.startsWith('system:node:') || organizations.join() !== NODES) return false;
  const { username: name, groups } = request.spec as { username: string; groups: string[] };
  const subresource = name === commonName ? 'selfnodeclient' : 'nodeclient';
  // Requests of users who may do everything are not reviewed: a person approves them.
  const asked = { ...RULES, subresource, name: '' };
  return !groups.includes('system:masters') && authorization.decide({ name, groups }, asked).allowed;
}

function approve(host: ControllerHost, request: AnyObject): void {
  const at = rfc3339(host.now());
  const condition = {
    type: 'Approved',
    status: 'True',
    reason: 'AutoApproved',
    message: 'Auto approving kubelet client certificate after SubjectAccessReview.',
    lastUpdateTime: at,
    lastTransitionTime: at,
  };
  change(host, request, { ...request.status, conditions: [condition] });
}

function sign(host: ControllerHost, request: AnyObject): void {
  const { cert, key } = host.ca.files;
  const asked = Number(request.spec.expirationSeconds ?? YEAR_SECONDS);
  const certificate = signRequest(
    { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') },
    {
      request: textOf(request),
      usages: (request.spec.usages ?? []) as string[],
      nowMs: host.now(),
      seconds: Math.min(asked, YEAR_SECONDS),
    },
  );
  change(host, request, { ...request.status, certificate: Buffer.from(certificate).toString('base64') });
}

function change({ objects }: ControllerHost, request: AnyObject, status: Draft): void {
  const target = { type: typeOf(KEY), namespace: undefined, name: request.metadata.name };
  objects.change(target, request, { ...request, status }, { user: LOOPBACK, subresource: 'status' });
}
