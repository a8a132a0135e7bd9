/** The static pods of a hollow node, from a manifest or a folder of manifests that all nodes have in common. */
import { defer, from, type Observable } from 'rxjs';
import {
  manifestProblems,
  NOTHING_READ,
  readManifests,
} from '../../agent/sources/manifests/manifest-files.ts';
import type { SourceUpdate } from '../../agent/sources/source.ts';
import { patientCalls } from '../../system/files/patient-calls.ts';

/** They are read once for each start of the node's agent, and not watched. Never fails. */
export function staticPods(path: string, nodeName: string): Observable<SourceUpdate> {
  return defer(() => from(readStaticPods(path, nodeName)));
}

/** Where a manifest is broken, its pods are missing, and the problems say why. */
export async function readStaticPods(path: string, nodeName: string): Promise<SourceUpdate> {
  const source = 'file';
  const reading = await readManifests(path, NOTHING_READ, { source, nodeName, calls: patientCalls });
  return {
    pods: [...reading.files.values()].flatMap(({ pods }) => pods),
    problems: [...reading.problems, ...manifestProblems(reading, source)],
  };
}
