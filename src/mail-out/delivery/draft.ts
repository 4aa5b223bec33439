import type { Attempt, DeliveryJob, Outcome } from './attempt.ts'
import type { MxConnection } from './mx-connection.ts'
import { textOfDemands, textOfTry, type Try } from './tls-trouble.ts'
import { Transcript, type AttemptContext } from './transcript.ts'
import type { Demands } from './transport-policy.ts'
import type { DeliverServices } from './transferring.ts'

/** An attempt under construction. */
export interface Draft extends AttemptContext {
  recipientId: string
  beganAt: number
  connection: MxConnection | null
  /** How the last host was tried. */
  last: Try | null
  selectors: string[]
}

export const draftFor = (recipientId: string, { at, destination, isOwnMail }: DeliveryJob, { connection }: DeliverServices): Draft => ({
  recipientId,
  at,
  reportedFor: isOwnMail ? null : destination,
  beganAt: performance.now(),
  endsAt: performance.now() + connection.timeouts.attempt,
  transcript: new Transcript(),
  connection: null,
  last: null,
  selectors: [],
})

export function attemptOf(draft: Draft, outcome: Outcome, demands: Demands): Attempt {
  const { last, connection } = draft
  const attempt: Attempt = {
    recipientId: draft.recipientId,
    outcome,
    durationMs: Math.round(performance.now() - draft.beganAt),
    mxHost: last?.host.name ?? null,
    address: last?.host.address ?? null,
    sourceAddress: last?.host.source?.address ?? null,
    tls: connection?.tlsText ?? (last ? textOfTry(last) : textOfDemands(demands)),
    transport: connection?.transport ?? null,
    selectors: draft.selectors,
    transcript: JSON.stringify(draft.transcript.lines),
  }
  if (last?.host.smarthost) attempt.viaSmarthost = true
  return attempt
}
