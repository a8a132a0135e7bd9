import type { AgentContext } from '../types/agent-context.ts';
import { ownVersion } from '../version.ts';
import type { FlightRecorder } from './flight-recorder.ts';

export interface RecorderConfig {
  readonly rootDir: string;
  readonly nodeName: string;
  /** 0: it is off. */
  readonly flightRecorderBytes: number;
}

/** The code for it is loaded only where it is on. */
export async function openFlightRecorder(
  context: AgentContext,
  { rootDir, nodeName: node, flightRecorderBytes: sizeBytes }: RecorderConfig,
): Promise<FlightRecorder | undefined> {
  if (sizeBytes === 0) return undefined;
  const { FlightRecorder: Recorder } = await import('./flight-recorder.ts');
  const session = { node, pid: process.pid, program: ownVersion() };
  return new Recorder(context, session, rootDir, sizeBytes);
}
