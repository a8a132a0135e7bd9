import type {
  ApiObject,
  DeleteOptions,
  ListOptions,
  Selectors,
  WatchOptions,
} from '../service/api-server.ts';
import { type ApiResource, servedResource } from '../service/api-resources.ts';

/** `?fieldSelector=…`, empty if nothing is to be said. */
export function listQuery({ resourceVersion, ...selectors }: ListOptions): string {
  return query({ ...selected(selectors), resourceVersion });
}

export function watchQuery({ resourceVersion, timeoutSeconds, ...selectors }: WatchOptions): string {
  return query({
    ...selected(selectors),
    watch: 'true',
    allowWatchBookmarks: 'true',
    resourceVersion,
    timeoutSeconds: String(timeoutSeconds),
  });
}

/** An object as it is sent: the server wants to be told its kind. */
export function withKind(resource: ApiResource, object: ApiObject): object {
  const { group, version, kind } = servedResource(resource);
  return { apiVersion: group === '' ? version : `${group}/${version}`, kind, ...object };
}

export function deleteBody({ gracePeriodSeconds, uid }: DeleteOptions): object {
  return {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    ...(uid !== undefined && { preconditions: { uid } }),
  };
}

function selected({ fieldSelector, labelSelector }: Selectors): Record<string, string | undefined> {
  return { fieldSelector, labelSelector };
}

function query(values: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined) as [string, string][];
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}
