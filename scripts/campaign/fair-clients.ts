import { Worker } from 'node:worker_threads'
import type { SlowAttack } from './slow-attackers.ts'

/** Clients that behave: requests or whole SMTP sessions, each on a new connection. */
export interface FairClients extends Pick<SlowAttack, 'port' | 'protocol'> {
  token: string
  /** Whether they are strangers, who show no key and only ask what anybody may. */
  strangers: boolean
  localAddress: string
  seconds: number
  clients: number
}

export interface FairFigures {
  sessions: number
  /** Those that were refused, broken off, or took more than ten seconds. */
  failed: number
  firstFailure: string | null
  /** Of those that did not fail, ms, from the connection to the last answer; infinite where all did. */
  p50: number
  p99: number
}

/** Runs the clients for so long, in a thread of their own so that what the campaign does is not in the figures. */
export function runFairClients(clients: FairClients): Promise<FairFigures> {
  const { promise, resolve, reject } = Promise.withResolvers<FairFigures>()
  new Worker(new URL('./fair-clients-thread.ts', import.meta.url), { workerData: clients }).once('message', resolve).once('error', reject)
  return promise
}
